import type { EntityManager } from 'typeorm';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { after, days } from '../../platform/clock.js';
import { administratorInviteInput } from '../administrator-invites/process.js';
import { assertMayGrant, authorityOf } from '../capabilities/roles-authority.js';
import { DomainError, invalidField } from '../errors.js';
import { startLater } from '../outbox.js';
import type { ProcessRow } from './kind.js';

/** The new deadline: counted from now, or a moment. */
export type Extension = { expiresInMs: number } | { until: Date };

/** The longest time that an offer of rights stays open after it was last confirmed. */
const maxExtension = days(30);

/**
 * Gives an invite a later deadline; its link stays valid. That prolongs an offer of rights, so it requires the same
 * rights as resending it.
 * @returns the new deadline
 * @throws DomainError validation.failed, account.capability_required, member.owner_required,
 *   administrator_role.cannot_grant, administrator_invite.role_deleted
 */
export async function extendInvite(
  tx: EntityManager,
  { id, accountId }: ProcessRow,
  { userId, extension, now }: { userId: string; extension: Extension; now: Date },
): Promise<Date> {
  const scope = { accountId };
  const invite = await tx.findOneByOrFail(AdministratorInvite, { ...scope, id });
  const role = invite.roleId && (await tx.findOneBy(AdministratorRole, { ...scope, id: invite.roleId }));
  if (!role) throw new DomainError('administrator_invite.role_deleted');
  await assertMayGrant(tx, scope, await authorityOf(tx, scope, userId), { role, limits: invite.limits });

  const field = 'until' in extension ? 'until' : 'expires_in';
  const expiresAt = 'until' in extension ? extension.until : after(now, extension.expiresInMs);
  if (expiresAt <= invite.expiresAt) throw invalidField(field, 'process.not_later', 'must be later than the deadline');
  if (expiresAt > after(now, maxExtension))
    throw invalidField(field, 'process.too_late', 'must be within 30 days from now');
  await tx.update(AdministratorInvite, { ...scope, id, status: 'pending' }, { expiresAt });
  const renewed = { ...invite, expiresAt };
  await startLater(tx, 'inviteExpiry', { ...administratorInviteInput(renewed, now), news: 'resent' }); // a new deadline, no new link
  return expiresAt;
}
