import { type EntityManager, LessThanOrEqual } from 'typeorm';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import type { Clock } from '../../platform/clock.js';
import { systemActor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { queueEmail } from '../emails/queue.js';
import { recordEvent } from '../events/record.js';
import type { InviteExpiry, InviteRow } from '../invites/expiry.js';
import { notAcceptedInTime } from '../invites/times.js';
import { administratorInviteInput, administratorInviteReminder } from './process.js';

export function createAdministratorInviteExpiry({ db, now }: { db: Db; now: Clock }): InviteExpiry {
  const within = (id: string, work: (tx: EntityManager) => Promise<void>) =>
    db.transaction('system', async (tx) => {
      await work(tx);
      return present(await tx.findOneBy(AdministratorInvite, { id }), now());
    });

  return {
    read: (id) => within(id, async () => {}),
    remind: (id) =>
      within(id, async (tx) => {
        const invite = await tx.findOneBy(AdministratorInvite, { id, status: 'pending' });
        if (invite && invite.expiresAt > now()) await queueEmail(tx, administratorInviteReminder(invite), now());
      }),
    expire: (id) =>
      within(id, async (tx) => {
        await lockAdministrationOf(tx, id);
        await expireAdministratorInvites(tx, { id }, now());
      }),
    cancel: (id, reason) =>
      within(id, async (tx) => {
        await lockAdministrationOf(tx, id);
        await expireAdministratorInvites(tx, { id }, now());
        const open = { id, status: 'pending' as const };
        const invite = await tx.findOneBy(AdministratorInvite, open);
        const ended = { status: 'revoked' as const, endedReason: reason, endedAt: now() };
        const { affected } = await tx.update(AdministratorInvite, open, ended);
        if (!invite || !affected) return;
        const { accountId } = invite;
        await recordEvent(tx, 'administrator_invite.revoked', { accountId, resourceId: id, metadata: { reason } });
      }),
  };
}

/** Locks the invite's Account before the invite, as accept, resend and revoke do, so that one of them comes first. */
export async function lockAdministrationOf(tx: EntityManager, id: string): Promise<void> {
  const invite = await tx.findOne(AdministratorInvite, { where: { id }, select: { id: true, accountId: true } });
  if (invite) await lockAdministration(tx, invite);
}

/** Records the expiry of invites whose time is over. The row's own date decides. */
export async function expireAdministratorInvites(
  tx: EntityManager,
  which: { id: string } | { accountId: string; email: string },
  now: Date,
): Promise<void> {
  const overdue = await tx.findBy(AdministratorInvite, {
    ...which,
    status: 'pending',
    expiresAt: LessThanOrEqual(now),
  });
  for (const { id, accountId, expiresAt } of overdue) {
    const ended = { status: 'expired' as const, endedReason: notAcceptedInTime, endedAt: expiresAt };
    const stillOverdue = { id, status: 'pending' as const, expiresAt: LessThanOrEqual(now) };
    const { affected } = await tx.update(AdministratorInvite, stillOverdue, ended);
    // The actor is the system, whoever's request noticed the expiry.
    const about = { accountId, resourceId: id, actor: systemActor };
    if (affected) await recordEvent(tx, 'administrator_invite.expired', about);
  }
}

/** An invite that was deleted with its Account counts as revoked. */
function present(invite: AdministratorInvite | null, now: Date): InviteRow {
  if (!invite) return { status: 'revoked', expiresAt: now.toISOString(), reminderAt: null };
  const { expiresAt, reminderAt } = administratorInviteInput(invite, now);
  return { status: invite.status, expiresAt, reminderAt };
}
