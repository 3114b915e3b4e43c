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
 * Marks a failed intent as claimed, to be provisioned again. A slug that was taken is replaced by one derived from the
 * name, unless support specifies another.
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

/** Has the process of a failed intent provision it again. Its owner's earlier consent still applies. */
export const createAccountRetry =
  ({ db, now }: AccountRetryDeps) =>
  /** @throws DomainError account_intent.not_found, account_intent.not_failed */
  (id: string, changes: { accountSlug?: string } = {}): Promise<void> =>
    db.transaction('system', async (tx) => {
      const intent = await retry(tx, id, { ...changes, now: now() });
      await startLater(tx, 'accountIntent', accountIntentInput(intent));
    });

/** What precedes the intent's id in the workflow id that the Temporal UI shows. */
const processOf = /^account-intent\//;

/**
 * Retries a failed intent on behalf of the operators of the service: an intent belongs to no Account, so no Account's
 * support can see it.
 */
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
