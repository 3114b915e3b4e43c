import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import { Organization } from '../../../entities/organization.js';
import { groupBy } from '../../platform/group-by.js';

/**
 * Locks organizations before their invitations. All code here locks in the order person, node, organization, invite, as
 * their deletions do.
 */
export async function lockOrganizations(tx: EntityManager, ids: readonly (string | null)[]): Promise<void> {
  const there = [...new Set(ids.filter((id) => id !== null))];
  if (there.length === 0) return;
  await tx.query('select from nodes where id = any($1) order by id for key share', [there]);
  await tx.query('select from organizations where id = any($1) order by id for no key update', [there]);
}

/** Updates how many invitations of organizations are pending, in the transaction of the change. */
export async function countPending(
  tx: EntityManager,
  invites: readonly Pick<IdentityInvite, 'organizationId'>[],
  each: 1 | -1,
): Promise<void> {
  for (const [id, { length }] of groupBy(invites, ({ organizationId }) => organizationId))
    if (id) await tx.increment(Organization, { id }, 'pendingInviteCount', each * length);
}
