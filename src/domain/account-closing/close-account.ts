import { type EntityManager, IsNull } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { Application } from '../../../entities/application.js';
import { Membership } from '../../../entities/membership.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoDomain } from '../../../entities/sso-domain.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { AccountScope } from '../../platform/scope.js';
import { endMemberships, ownersOf } from '../accounts/leave.js';
import { refusedMember } from '../accounts/refused-member.js';
import { noticeAdmin } from '../admin-mfa/mails.js';
import { assertSpeaksFor } from '../admin-mfa/other-sign-in.js';
import { createProof } from '../admin-mfa/proof.js';
import type { SignedInAdmin } from '../admin-mfa/signed-in-admin.js';
import { revokeAdministratorInvites } from '../administrator-invites/administrator-invites.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { removeConnection } from '../sso-connections/ending.js';
import { lockRequestsOf } from '../sso-connections/find.js';
import { releaseClaim } from '../sso-domains/process.js';
import { silenceWebhooks } from '../webhooks/routes.js';

/**
 * Closes an Account without Applications: from the commit on it has no members, and its slug is free. `closed-accounts`
 * deletes the rest of it later, so that even a large Account does not make the request slow (docs/decisions/0088).
 */
export function createAccountClosing({ db, now }: { db: Db; now: Clock }) {
  const proof = createProof({ db, now });

  /**
   * @param confirm the Account's slug, as the person who closes it typed it
   * @throws DomainError account.not_found if the caller is not a member, account.other_sign_in_required,
   *   account.owner_required, account.confirmation_required, account.has_applications, auth.reauthentication_required,
   *   auth.invalid_credentials
   */
  return (admin: SignedInAdmin, { accountId }: AccountScope, confirm: string | undefined): Promise<void> =>
    retryingDeadlocks(() =>
      db.transaction('system', async (tx) => {
        const scope = { accountId };
        const isMember = () => tx.existsBy(Membership, { accountId, userId: admin.userId });
        if (!(await isMember())) throw new DomainError('account.not_found');
        await assertSpeaksFor(tx, admin, accountId);
        await lockConnections(tx, scope); // before the Account, in the order of a sign-in that adds a member
        await lockAdministration(tx, scope);
        const owners = await ownersOf(tx, scope);
        if (!owners.some(({ userId }) => userId === admin.userId))
          throw new DomainError((await isMember()) ? 'account.owner_required' : 'account.not_found'); // ended meanwhile
        const lock = { mode: 'pessimistic_write' } as const; // nothing can be added to it from here on
        const account = await tx.findOneOrFail(Account, { where: { id: accountId }, lock });
        if (confirm !== account.slug) throw new DomainError('account.confirmation_required');
        if (await tx.existsBy(Application, { accountId })) throw new DomainError('account.has_applications');
        await proof.lockRecent(tx, admin);
        const eventId = await recordEvent(tx, 'account.closed', {
          accountId,
          resourceId: accountId,
          resourceLabel: account.name,
          metadata: { slug: account.slug },
        });
        const at = now();
        // Nobody can request this slug, so it takes none from anybody: valid slugs have no underscore.
        const slug = `closed_${accountId}`;
        const locale = await defaultLocaleOf(tx, scope);
        for (const { userId } of owners) await noticeAdmin(tx, { userId, eventId, locale, now: at });
        await endAll(tx, scope, at);
        await tx.update(Account, { id: accountId }, { closedAt: at, slug, updatedAt: at });
      }),
    ).catch(refusedMember(db, { accountId }, 'closeAccount'));
}

/** Ends everything that still gives a person or a system access to the Account, each with its own event. */
async function endAll(tx: EntityManager, { accountId }: AccountScope, at: Date): Promise<void> {
  const lockedInOrder = { order: { id: 'ASC' }, lock: { mode: 'pessimistic_write' } } as const;
  const invites = await tx.find(AdministratorInvite, { where: { accountId, status: 'pending' }, ...lockedInOrder });
  await revokeAdministratorInvites(tx, { accountId }, invites, { reason: 'account_closed', at });
  for (const claim of await tx.find(SsoDomain, { where: { accountId, organizationId: IsNull() }, ...lockedInOrder }))
    await releaseClaim(tx, claim);
  for (const connection of await tx.find(SsoConnection, { where: adminConnections(accountId), ...lockedInOrder }))
    await removeConnection(tx, connection, at);
  await silenceWebhooks(tx, { accountId, environmentId: null });
  await endMemberships(tx, { accountId }, await tx.find(Membership, { where: { accountId }, ...lockedInOrder }));
  await tx.query('update user_sessions set account_id = null, application_id = null where account_id = $1', [
    accountId,
  ]);
}

const adminConnections = (accountId: string) => ({ accountId, scope: 'admin' as const });

async function lockConnections(tx: EntityManager, scope: AccountScope): Promise<void> {
  const connections = await tx.find(SsoConnection, { where: adminConnections(scope.accountId), order: { id: 'ASC' } });
  for (const { id } of connections) await lockRequestsOf(tx, scope, id);
}
