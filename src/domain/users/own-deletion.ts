import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { Membership } from '../../../entities/membership.js';
import { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import { endMembership, hasAnotherOwner } from '../accounts/leave.js';
import { assertSpeaksForAll } from '../admin-mfa/other-sign-in.js';
import { createProof } from '../admin-mfa/proof.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import type { AdminSubject } from './admin-tokens.js';

/**
 * Deletes a platform admin with all their data: password, second factors, sessions, links to identity providers,
 * memberships. Audit logs keep the id, but nothing maps it to a name.
 */
export function createUserDeletion({ db, now }: { db: Db; now: Clock }) {
  const proof = createProof({ db, now });

  /**
   * @throws DomainError auth.reauthentication_required, auth.invalid_credentials; account.other_sign_in_required if the
   *   identity provider that signed them in does not speak for one of their Accounts; member.last_owner, whose details
   *   are the slugs of the Accounts that would be left without an Owner
   */
  return (subject: AdminSubject): Promise<void> =>
    retryingDeadlocks(() =>
      db.transaction('system', async (tx) => {
        const { userId } = subject;
        // Accounts in a fixed order and before the user, as in the reset of a member's second factors.
        for (const { accountId } of await membershipsOf(tx, userId)) await lockAdministration(tx, { accountId });
        await proof.lockRecent(tx, subject);
        const memberships = await membershipsOf(tx, userId); // no further one can be added from here on
        await assertSpeaksForAll(tx, subject);
        await assertNobodyIsLeftAlone(tx, memberships);
        for (const membership of memberships) await endMembership(tx, membership);
        await tx.query(
          `delete from refresh_tokens where kind = 'user_session' and family_id in (select id from user_sessions where user_id = $1)`,
          [userId],
        );
        await tx.delete(User, { id: userId });
        await recordEvent(tx, 'auth.admin_deleted', { accountId: subject.accountId, resourceId: userId });
      }),
    );
}

const membershipsOf = (tx: EntityManager, userId: string): Promise<Membership[]> =>
  tx.find(Membership, { where: { userId }, order: { accountId: 'asc' } });

async function assertNobodyIsLeftAlone(tx: EntityManager, memberships: readonly Membership[]): Promise<void> {
  const details = [];
  for (const { accountId, id } of memberships) {
    await lockAdministration(tx, { accountId }); // also for a membership that was added meanwhile
    if (await hasAnotherOwner(tx, { accountId }, id)) continue;
    const { slug } = await tx.findOneByOrFail(Account, { id: accountId });
    details.push({ field: slug, code: 'last_owner', message: 'would be left without an Owner' });
  }
  if (details.length > 0) throw new DomainError('member.last_owner', { details });
}
