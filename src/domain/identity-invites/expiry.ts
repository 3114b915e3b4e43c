import { type EntityManager, type FindOptionsWhere, IsNull, LessThanOrEqual } from 'typeorm';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import type { Clock } from '../../platform/clock.js';
import { systemActor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { queueEmail } from '../emails/queue.js';
import type { InviteExpiry, InviteRow } from '../invites/expiry.js';
import { notAcceptedInTime } from '../invites/times.js';
import { recordInvite, recordInvites } from './events.js';
import { countPending, lockOrganizations } from './invited-organizations.js';
import { identityInviteInput, identityInviteReminder } from './process.js';
import { waitingIds } from './waiting.js';

/** Reminders, expiry and an operator's cancellation of an end user's invite. Repeating any of them is harmless. */
export function createIdentityInviteExpiry({ db, now }: { db: Db; now: Clock }): InviteExpiry {
  const within = (id: string, work: (tx: EntityManager) => Promise<void>) =>
    db.transaction('system', async (tx) => {
      await work(tx);
      return present(await tx.findOneBy(IdentityInvite, { id }), now());
    });

  return {
    read: (id) => within(id, async () => {}),
    remind: (id) =>
      within(id, async (tx) => {
        const invite = await tx.findOneBy(IdentityInvite, { id, status: 'pending' });
        if (invite && invite.expiresAt > now()) await queueEmail(tx, identityInviteReminder(invite), now());
      }),
    expire: (id) =>
      within(id, async (tx) => {
        await lockOrganizationOf(tx, id);
        await expireIdentityInvites(tx, { id }, now());
      }),
    cancel: (id, reason) =>
      within(id, async (tx) => {
        await lockOrganizationOf(tx, id);
        const invite = await tx.findOneBy(IdentityInvite, { id, status: 'pending' });
        if (invite) await revokeIdentityInvites(tx, [invite], { reason, at: now() });
      }),
  };
}

/** Locks the organization that an invite leads into, if any. Call it before the invite is locked. */
export async function lockOrganizationOf(tx: EntityManager, id: string): Promise<void> {
  const invite = await tx.findOne(IdentityInvite, { where: { id }, select: { id: true, organizationId: true } });
  await lockOrganizations(tx, [invite?.organizationId ?? null]);
}

/**
 * Revokes pending invites. Those past their expiry become expired instead, which nobody has recorded yet.
 * @returns the revoked invites; the others had ended before
 */
export async function revokeIdentityInvites(
  tx: EntityManager,
  invites: readonly IdentityInvite[],
  { reason, at }: { reason: string; at: Date },
): Promise<IdentityInvite[]> {
  const [rows] = await tx.query<[Pick<IdentityInvite, 'id' | 'status'>[], number]>(
    `update identity_invites set status = case when expires_at <= $3 then 'expired' else 'revoked' end,
       ended_reason = case when expires_at <= $3 then '${notAcceptedInTime}' else $2 end, ended_at = least(expires_at, $3::timestamptz)
     where id = any($1) and status = 'pending' returning id, status`,
    [invites.map(({ id }) => id), reason, at],
  );
  const ended = new Map(rows.map(({ id, status }) => [id, status]));
  const revoked = invites.filter(({ id }) => ended.get(id) === 'revoked');
  const expired = invites.filter(({ id }) => ended.get(id) === 'expired');
  await countPending(tx, [...revoked, ...expired], -1);
  await recordInvites(tx, 'revoked', revoked, { metadata: { reason } });
  await recordInvites(tx, 'expired', expired, { actor: systemActor }); // time ended it, whoever notices
  return revoked;
}

/** One invite, or all to the same address, which would prevent another one. */
type Which =
  | { id: string }
  | (Pick<IdentityInvite, 'accountId' | 'environmentId' | 'email'> & { organizationId: string | null });

/** Records the expiry of pending invites whose `expires_at` has passed. */
export async function expireIdentityInvites(tx: EntityManager, which: Which, now: Date): Promise<void> {
  const overdue = await tx.findBy(IdentityInvite, {
    ...('id' in which ? which : await toSameAddress(tx, which)),
    status: 'pending',
    expiresAt: LessThanOrEqual(now),
  });
  for (const invite of overdue) {
    const { id, expiresAt } = invite;
    const ended = { status: 'expired' as const, endedReason: notAcceptedInTime, endedAt: expiresAt };
    const stillOverdue = { id, status: 'pending' as const, expiresAt: LessThanOrEqual(now) };
    const { affected } = await tx.update(IdentityInvite, stillOverdue, ended);
    if (!affected) continue;
    await countPending(tx, [invite], -1);
    await recordInvite(tx, 'expired', invite, { actor: systemActor });
  }
}

/** Finds them by ids, since pending invites are many, and most of those that were ever made became overdue. */
const toSameAddress = async (
  tx: EntityManager,
  { accountId, environmentId, email, organizationId }: Exclude<Which, { id: string }>,
): Promise<FindOptionsWhere<IdentityInvite>> => ({
  accountId,
  environmentId,
  id: await waitingIds(tx, accountId, email),
  organizationId: organizationId ?? IsNull(),
});

/** Presents the row; an invite that was deleted with its Environment counts as revoked. */
function present(invite: IdentityInvite | null, now: Date): InviteRow {
  if (!invite) return { status: 'revoked', expiresAt: now.toISOString(), reminderAt: null };
  const { expiresAt, reminderAt } = identityInviteInput(invite, now);
  return { status: invite.status, expiresAt, reminderAt };
}
