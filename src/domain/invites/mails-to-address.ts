import { hours } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter } from '../../platform/limiter.js';
import type { AccountScope } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { countUse } from '../limits/rate-limits.js';

const windowSeconds = hours(1) / 1000;
/** The limits of invite mails to one address, from one Account and from all: the inviter chooses the mailbox. */
const fromAccount = { name: 'invite-address-of-account', points: 5, windowSeconds };
const fromAnybody = { name: 'invite-address', points: 20, windowSeconds };

/**
 * Runs `work`, which sends or resends an invite, and counts it as one mail to the address unless it fails.
 * @throws DomainError rate_limit.exceeded
 */
export type MailingInvite = <T>(scope: AccountScope, email: string, work: () => Promise<T>) => Promise<T>;

export function createMailingInvite({
  db,
  rateLimits,
}: {
  db: Pick<Db, 'statement'>;
  rateLimits: boolean;
}): MailingInvite {
  if (!rateLimits) return (_scope, _email, work) => work();
  const [ofAccount, ofAll] = [createLimiter(db, fromAccount), createLimiter(db, fromAnybody)];
  return async ({ accountId }, email, work) => {
    const address = countedAddress(email);
    const uses = [
      { limiter: ofAccount, key: `${accountId} ${address}` },
      { limiter: ofAll, key: address },
    ];
    const counted: typeof uses = [];
    try {
      for (const use of uses) {
        await countUse(use.limiter, use.key);
        counted.push(use);
      }
      return await work();
    } catch (error) {
      for (const { limiter, key } of counted) await limiter.giveBack(key).catch(() => {});
      throw error;
    }
  };
}
