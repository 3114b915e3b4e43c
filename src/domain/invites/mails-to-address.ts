import { hours } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter } from '../../platform/limiter.js';
import type { AccountScope } from '../../platform/scope.js';
import { countedAddress } from '../counted-address.js';
import { countUse } from '../rate-limits.js';

const windowSeconds = hours(1) / 1000;
/** Mails of invites to one address, from one Account and from all: whoever invites chooses whose mailbox it is. */
const fromAccount = { name: 'invite-address-of-account', points: 5, windowSeconds };
const fromAnybody = { name: 'invite-address', points: 20, windowSeconds };

/** Sends an invite, or sends it again, as one mail to this address; what is refused was none. @throws DomainError rate_limit.exceeded */
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
