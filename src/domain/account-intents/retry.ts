import type { EntityManager } from 'typeorm';
import { AccountIntent } from '../../../entities/account-intent.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { isUuid } from '../../platform/uuid.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { accountIntentInput } from './process.js';

/**
 * Has a failed one provisioned once more. A short name that was taken is given up for one that the name gives, unless support
 * names another.
 * @throws DomainError account_intent.not_found, account_intent.not_failed
 */
async function retry(
  tx: EntityManager,
  id: string,
  { accountSlug, now }: { accountSlug?: string | undefined; now: Date },
): Promise<AccountIntent> {
  const intent = await tx.findOne(AccountIntent, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (!intent) throw new DomainError('account_intent.not_found');
  if (intent.status !== 'failed') throw new DomainError('account_intent.not_failed');
  const kept = intent.endedReason === 'account.slug_taken' ? null : intent.accountSlug;
  const again = {
    status: 'claimed',
    accountSlug: accountSlug ?? kept,
    claimedAt: now,
    endedReason: null,
    endedAt: null,
  } as const;
  await tx.update(AccountIntent, { id }, again);
  await recordEvent(tx, 'auth.account_intent_retried', { resourceId: id });
  return { ...intent, ...again };
}

export interface AccountRetryDeps {
  db: Pick<Db, 'transaction'>;
  now: Clock;
}

/** Has a failed one provisioned again by its process, with its owner's earlier consent. */
export const createAccountRetry =
  ({ db, now }: AccountRetryDeps) =>
  /** @throws DomainError account_intent.not_found, account_intent.not_failed */
  (id: string, changes: { accountSlug?: string } = {}): Promise<void> =>
    db.transaction('system', async (tx) => {
      const intent = await retry(tx, id, { ...changes, now: now() });
      await startLater(tx, 'accountIntent', accountIntentInput(intent));
    });

/** What the id of its process, as the Temporal UI has it, has before its own. */
const processOf = /^account-intent\//;

/** The same for whoever operates the service: what is asked for belongs to no Account, whose support could see it. */
export function createAccountRetryByOperator(deps: AccountRetryDeps) {
  const retryOne = createAccountRetry(deps);
  return async (name: string): Promise<'retried' | 'not_found' | 'not_failed'> => {
    const id = name.replace(processOf, '');
    if (!isUuid(id)) return 'not_found';
    try {
      await retryOne(id);
      return 'retried';
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return error.code === 'account_intent.not_failed' ? 'not_failed' : 'not_found';
    }
  };
}
