import type { ProcessInput } from '../../platform/process-kinds.js';
import type { AccountIntents } from '../account-intents/account-intents.js';
import type { WantedAccount } from '../account-intents/park.js';
import type { ProvisionedIntent } from '../account-intents/provision.js';
import { DomainError } from '../errors.js';
import type { AdminSubject } from './admin-tokens.js';
import type { Browser, SignedIn } from './outcomes.js';
import type { SignIn } from './sign-in.js';

/** The caller and the id of their request: a retry with the same Idempotency-Key has the same id and Account. */
export type AccountCaller = Browser & { subject: AdminSubject; claimId: string };

export interface AccountCreation {
  /**
   * @throws DomainError account.slug_taken, account.limit_reached; account.password_required after parking the intent
   */
  create(wanted: WantedAccount, caller: AccountCaller): Promise<SignedIn>;
  /** Returns the names in the parked intent. Somebody who was not signed in may have written them. */
  pending(userId: string): Promise<{ accountName: string; applicationName: string } | null>;
  /**
   * Claims the parked intent and creates its Account, once, however many requests ask for it.
   * @throws DomainError account_intent.not_found, account.slug_taken, service.unavailable; account.password_required as
   *   in `create`, with the intent still parked
   */
  resume(caller: AccountCaller): Promise<SignedIn>;
  /** Discards all parked intents of the user. */
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

/** Creates further Accounts of a user: at once, or from a parked intent (spec, "States and transitions"). */
export function createAccountCreation({ accountIntents, processes, signIn }: AccountCreationDeps): AccountCreation {
  const start = ({ subject, claimId: _, ...browser }: AccountCaller, made: ProvisionedIntent) =>
    signIn.signInCreated({ ...made, ...browser, subject });

  /** Returns what the process created. It may finish after its caller was told to try again, so the row is read too. */
  async function resumed({ subject: { userId }, claimId }: AccountCaller): Promise<ProvisionedIntent> {
    const found = await accountIntents.findFor(userId, claimId);
    if (!found) throw notFound();
    if (found.status === 'consumed') return found;
    try {
      return await processes.resumeAccountIntent(found.process, claimId);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // The process refuses an intent that has ended, or that this request or an earlier one has claimed already, whose
      // outcome may still be open.
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
      // The rows are discarded already; a process that misses this signal sees that when its intent expires.
      processes.discardAccountIntents(ids).catch(() => undefined);
    },
  };
}

const notFound = () => new DomainError('account_intent.not_found');
const isNotFound = (error: unknown) => error instanceof DomainError && error.code === 'account_intent.not_found';
