import type { ProcessInput } from '../../platform/process-kinds.js';
import type { AccountIntents } from '../account-intents/account-intents.js';
import type { WantedAccount } from '../account-intents/park.js';
import type { ProvisionedIntent } from '../account-intents/provision.js';
import { DomainError } from '../errors.js';
import type { AdminSubject } from './admin-tokens.js';
import type { Browser, SignedIn, SignIn } from './sign-in.js';

/** Who asks, and the request's id: a retry with the same Idempotency-Key has the same, and gets the same Account. */
export type AccountCaller = Browser & { subject: AdminSubject; claimId: string };

export interface AccountCreation {
  /** @throws DomainError account.slug_taken, account.limit_reached, or account.password_required after parking the wish */
  create(wanted: WantedAccount, caller: AccountCaller): Promise<SignedIn>;
  /** The names of the parked wish; somebody who was not signed in wrote them. */
  pending(userId: string): Promise<{ accountName: string; applicationName: string } | null>;
  /**
   * Claims the parked wish and creates its Account, once however many ask.
   * @throws DomainError account_intent.not_found, account.slug_taken, service.unavailable; account.password_required as `create`,
   *   with the wish parked still
   */
  resume(caller: AccountCaller): Promise<SignedIn>;
  /** Discards whatever is parked. */
  discard(userId: string): Promise<void>;
}

export interface AccountCreationDeps {
  accountIntents: Pick<AccountIntents, 'createNow' | 'pending' | 'findFor' | 'discardAll'>;
  processes: {
    resumeAccountIntent(input: ProcessInput<'accountIntent'>, claimId: string): Promise<ProvisionedIntent>;
    discardAccountIntents(ids: string[]): Promise<void>;
  };
  signIn: Pick<SignIn, 'signInCreated'>;
}

/** A user's further Accounts: at once, or from what was parked (spec, "States and transitions"). */
export function createAccountCreation({ accountIntents, processes, signIn }: AccountCreationDeps): AccountCreation {
  const start = ({ subject, claimId: _, ...browser }: AccountCaller, made: ProvisionedIntent) =>
    signIn.signInCreated({ ...made, ...browser, subject });

  /** What the process made of it. It may finish after its caller was told to try again, so the row is asked too. */
  async function resumed({ subject: { userId }, claimId }: AccountCaller): Promise<ProvisionedIntent> {
    const found = await accountIntents.findFor(userId, claimId);
    if (!found) throw notFound();
    if (found.status === 'consumed') return found;
    try {
      return await processes.resumeAccountIntent(found.process, claimId);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Refused: ended, this request's own from before, or at work for a request before it, whose outcome nobody knows yet.
      const since = await accountIntents.findFor(userId, claimId);
      if (since?.status === 'consumed') return since;
      if (since) throw new DomainError('service.unavailable', { retryAfter: 5, cause: error });
      throw error;
    }
  }

  return {
    async create(wanted, caller) {
      const { subject, claimId } = caller;
      const made = await accountIntents.createNow({ ...wanted, userId: subject.userId, claimId });
      if (!made) throw new DomainError('account.password_required');
      return start(caller, made);
    },
    pending: (userId) => accountIntents.pending(userId),
    resume: async (caller) => start(caller, await resumed(caller)),
    async discard(userId) {
      const ids = await accountIntents.discardAll(userId);
      // Their rows say so already; processes that miss this see it when their time is over.
      processes.discardAccountIntents(ids).catch(() => undefined);
    },
  };
}

const notFound = () => new DomainError('account_intent.not_found');
const isNotFound = (error: unknown) => error instanceof DomainError && error.code === 'account_intent.not_found';
