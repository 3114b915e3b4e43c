import { Any, type EntityManager, In, MoreThan } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorInvite, type InviteStatus } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { after, type Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { AccountScope } from '../../platform/scope.js';
import { findRoles, roleName } from '../accounts/members-roles.js';
import { checkedLimits, type WantedLimits } from '../capabilities/role-limits.js';
import { assertMayGrant, authorityOf, lockAdministration } from '../capabilities/roles-authority.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordEvent, recordEvents } from '../events/record.js';
import type { MailingInvite } from '../invites/mails-to-address.js';
import { inviteStatusOf } from '../invites/times.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { readRowCount } from '../lists/row-counts.js';
import { startAllLater, startLater } from '../outbox.js';
import { expireAdministratorInvites } from './expiry.js';
import { administratorInviteToken } from './link.js';
import { administratorInviteEmail, administratorInviteInput } from './process.js';

export interface NewInvite {
  email: string;
  firstName: string;
  lastName: string;
  roleId: string;
  limits: WantedLimits;
  locale: 'en' | 'de';
}

/** An invite for display, with its present status and the name of its role. */
export interface ShownInvite extends AdministratorInvite {
  roleName: string | null;
}

export interface AdministratorInvites {
  list(
    scope: AccountScope,
    page: PageRequest<keyof typeof columns> & { status?: InviteStatus },
  ): Promise<Page<ShownInvite>>;
  /** @throws DomainError administrator_invite.not_found */
  get(scope: AccountScope, id: string): Promise<ShownInvite>;
  /**
   * Invites a person by mail to administer the Account.
   * @param userId the inviter
   * @throws DomainError administrator_invite.already_pending, member.already_member, member.owner_required,
   *   administrator_role.cannot_grant, validation.failed; rate_limit.exceeded for this address
   */
  create(scope: AccountScope, userId: string, invite: NewInvite): Promise<ShownInvite>;
  /**
   * Sends a new link with a full lifetime; the old one becomes invalid. An expired invite becomes pending again.
   * @throws DomainError as `create`, and administrator_invite.not_found, administrator_invite.not_pending
   */
  resend(scope: AccountScope, userId: string, id: string): Promise<ShownInvite>;
  /** @throws DomainError administrator_invite.not_found, administrator_invite.not_pending */
  revoke(scope: AccountScope, userId: string, id: string): Promise<ShownInvite>;
  /** Revokes the pending invite to the address of a member who is removed. The caller has locked the administration. */
  withdraw(tx: EntityManager, scope: AccountScope, email: string): Promise<void>;
}

export interface AdministratorInvitesDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  /** The life of a link, in milliseconds. */
  ttlMs: number;
  mailing: MailingInvite;
}

const columns = {
  created_at: ['invite.createdAt', 'invite.id'],
  expires_at: ['invite.expiresAt', 'invite.id'],
  email: ['invite.email', 'invite.id'],
};

/** Invites of administrators to an Account (contract §10). */
export function createAdministratorInvites({
  db,
  sealing,
  now,
  ttlMs,
  mailing,
}: AdministratorInvitesDeps): AdministratorInvites {
  const change = <T>({ accountId }: AccountScope, work: (tx: EntityManager, scope: AccountScope) => Promise<T>) =>
    db
      .transaction({ accountId }, async (tx) => {
        await lockAdministration(tx, { accountId });
        return work(tx, { accountId });
      })
      .catch((error: unknown) => {
        throw violates(error, 'administrator_invites_one_pending_per_address')
          ? new DomainError('administrator_invite.already_pending')
          : error;
      });

  /** Returns the columns of a new link. */
  const link = (id: string, linkNumber: number) => {
    const { token, keyId } = administratorInviteToken(sealing, { id, linkNumber });
    return { linkNumber, tokenHash: hashSecret(token), tokenKeyId: keyId, expiresAt: after(now(), ttlMs) };
  };

  const get = ({ accountId }: AccountScope, id: string) =>
    db.transaction({ accountId }, (tx) => find(tx, { accountId }, id, now()));

  return {
    list: ({ accountId }, { status, ...page }) =>
      db.transaction({ accountId }, async (tx) => {
        const query = tx.createQueryBuilder(AdministratorInvite, 'invite').where({ accountId });
        const computed = `case when invite.status = 'pending' and invite.expires_at <= :now then 'expired' else invite.status end`;
        if (status) query.andWhere(`${computed} = :status`, { status, now: now() });
        if (page.q) {
          const searched = `(invite.email ilike :pattern or invite.first_name || ' ' || invite.last_name ilike :pattern)`;
          query.andWhere(searched, { pattern: containing(page.q) });
        }
        const isWhole = !status && !page.q;
        const total = isWhole ? await readRowCount(tx, { accountId }, 'administrator_invites') : undefined;
        const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], total);
        const roleIds = [...new Set(rows.flatMap(({ roleId }) => roleId ?? []))];
        const held = await tx.findBy(AdministratorRole, { accountId, id: In(roleIds) });
        const roles = new Map(held.map((role) => [role.id, role]));
        return { ...rest, rows: rows.map((row) => shown(row, roles.get(row.roleId ?? '') ?? null, now())) };
      }),

    get,

    create: (wantedIn, userId, invite) => mailing(wantedIn, invite.email, () => create(wantedIn, userId, invite)),

    async resend(wantedIn, userId, id) {
      const { email } = await get(wantedIn, id);
      return mailing(wantedIn, email, () => resend(wantedIn, userId, id));
    },

    revoke: (wantedIn, userId, id) =>
      change(wantedIn, async (tx, scope) => {
        const invite = await find(tx, scope, id, now());
        if (invite.status !== 'pending') throw notPending();
        await authorityOf(tx, scope, userId);
        return {
          ...invite,
          ...(await revokeAdministratorInvites(tx, scope, [invite], { reason: 'revoked_by_administrator', at: now() })),
        };
      }),

    withdraw: async (tx, { accountId }, email) => {
      const at = now();
      const pending = { accountId, email, status: 'pending' as const, expiresAt: MoreThan(at) };
      const invites = await tx.findBy(AdministratorInvite, pending);
      if (invites.length > 0)
        await revokeAdministratorInvites(tx, { accountId }, invites, { reason: 'member_removed', at });
    },
  };

  function create(wantedIn: AccountScope, userId: string, { roleId, limits: wanted, ...person }: NewInvite) {
    return change(wantedIn, async (tx, scope) => {
      const [role] = (await findRoles(tx, scope, [roleId], () => 'role_id')) as [AdministratorRole];
      const limits = await checkedLimits(tx, scope, wanted, 'limits');
      await assertMayGrant(tx, scope, await authorityOf(tx, scope, userId), { role, limits });
      await assertNoMember(tx, scope, person.email);
      await expireAdministratorInvites(tx, { ...scope, email: person.email }, now());
      const id = uuidv7();
      const invite: AdministratorInvite = {
        ...scope,
        ...person,
        ...link(id, 1),
        id,
        roleId: role.id,
        limits,
        status: 'pending',
        endedReason: null,
        invitedBy: userId,
        membershipId: null,
        createdAt: now(),
        endedAt: null,
      };
      await tx.insert(AdministratorInvite, invite);
      await recordEvent(tx, 'administrator_invite.created', {
        ...scope,
        resourceId: id,
        metadata: { role_id: role.id, limits },
      });
      await queueEmail(tx, administratorInviteEmail(invite), now());
      await startLater(tx, 'inviteExpiry', administratorInviteInput(invite, now()));
      return shown(invite, role, now());
    });
  }

  function resend(wantedIn: AccountScope, userId: string, id: string) {
    return change(wantedIn, async (tx, scope) => {
      const invite = await find(tx, scope, id, now());
      if (invite.status !== 'pending' && invite.status !== 'expired') throw notPending();
      const role = invite.roleId && (await tx.findOneBy(AdministratorRole, { ...scope, id: invite.roleId }));
      if (!role) throw new DomainError('administrator_invite.role_deleted');
      await assertMayGrant(tx, scope, await authorityOf(tx, scope, userId), { role, limits: invite.limits });
      await assertNoMember(tx, scope, invite.email);
      // Another invite to the address may have expired without a record yet.
      await expireAdministratorInvites(tx, { ...scope, email: invite.email }, now());
      const waiting = {
        status: 'pending' as const,
        endedReason: null,
        endedAt: null,
        ...link(id, invite.linkNumber + 1),
      };
      await tx.update(AdministratorInvite, { ...scope, id }, waiting);
      await recordEvent(tx, 'administrator_invite.resent', { ...scope, resourceId: id });
      const renewed = { ...invite, ...waiting };
      await queueEmail(tx, administratorInviteEmail(renewed), now());
      await startLater(tx, 'inviteExpiry', { ...administratorInviteInput(renewed, now()), news: 'resent' });
      return renewed;
    });
  }
}

/** Revokes pending invites that the caller has locked, and ends their processes. @returns the changed columns */
export async function revokeAdministratorInvites(
  tx: EntityManager,
  { accountId }: AccountScope,
  invites: readonly AdministratorInvite[],
  { reason, at }: { reason: string; at: Date },
): Promise<Pick<AdministratorInvite, 'status' | 'endedReason' | 'endedAt'>> {
  const ids = invites.map(({ id }) => id);
  const ended = { status: 'revoked', endedReason: reason, endedAt: at } as const;
  await tx.update(AdministratorInvite, { accountId, id: Any(ids) }, ended);
  const revoked = ids.map((resourceId) => ({ accountId, resourceId }));
  await recordEvents(tx, 'administrator_invite.revoked', revoked);
  const news = invites.map((invite) => ({ ...administratorInviteInput(invite, at), news: 'revoked' as const }));
  await startAllLater(tx, 'inviteExpiry', news);
  return ended;
}

const notPending = () => new DomainError('administrator_invite.not_pending');

const shown = (invite: AdministratorInvite, role: AdministratorRole | null, now: Date): ShownInvite => ({
  ...invite,
  status: inviteStatusOf(invite, now),
  roleName: role && roleName(role),
});

/** @throws DomainError administrator_invite.not_found */
async function find(tx: EntityManager, { accountId }: AccountScope, id: string, now: Date): Promise<ShownInvite> {
  const invite = await tx.findOneBy(AdministratorInvite, { accountId, id });
  if (!invite) throw new DomainError('administrator_invite.not_found');
  const role = invite.roleId ? await tx.findOneBy(AdministratorRole, { accountId, id: invite.roleId }) : null;
  return shown(invite, role, now);
}

/** @throws DomainError member.already_member */
async function assertNoMember(tx: EntityManager, { accountId }: AccountScope, email: string): Promise<void> {
  const [member] = await tx.query(
    'select id from memberships where account_id = $1 and user_id = gatehouse_user_id($2)',
    [accountId, email],
  );
  if (member) throw new DomainError('member.already_member');
}
