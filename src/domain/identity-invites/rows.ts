import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { Environment } from '../../../entities/environment.js';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import { within } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { environmentExists } from '../existing-environment.js';
import { inviteStatusOf } from '../invites/times.js';

/** The columns of an invite that lists show, besides its current status. */
export const shownOfInvite = [
  'id',
  'email',
  'firstName',
  'lastName',
  'locale',
  'endedReason',
  'endedAt',
  'expiresAt',
  'createdAt',
  'invitedBy',
  'invitedByType',
  'identityId',
  'intent',
  'roleIds',
  'nodeId',
  'environmentId',
  'organizationId',
] as const satisfies readonly (keyof IdentityInvite)[];

/** An invite as lists show it: with its current status, and the name of its Environment. */
export type ListedInvite = Pick<IdentityInvite, (typeof shownOfInvite)[number] | 'status'> & {
  environmentName: string;
};

/** An invite as lists show it, with all columns of its row. */
export type ShownIdentityInvite = IdentityInvite & ListedInvite;

/** Which invites. Invitations of an organization have lists of their own. */
export interface Whose {
  organizationId?: string;
  /** Only invites into this Environment; null: only invites into none. */
  environmentId?: string | null | undefined;
}

/** SQL: the status of an invite as of `now`. */
export const inviteStatusSql = (now: string): string =>
  `case when invite.status = 'pending' and invite.expires_at <= ${now} then 'expired' else invite.status end`;
const computedStatus = inviteStatusSql(':now');

/** Returns the invite with this id if it is one of `whose`, or else null. With `lock`, locks its row. */
export async function findInvite(
  tx: EntityManager,
  scope: AccountScope,
  id: string,
  { whose, lock = false }: { whose: Whose; lock?: boolean },
): Promise<IdentityInvite | null> {
  const query = invitesOf(tx, scope, whose).andWhere('invite.id = :id', { id });
  return (lock ? query.setLock('pessimistic_write') : query).getOne();
}

/** Returns invites with their current status and the names of their Environments. */
export async function withComputedStatus(
  tx: EntityManager,
  invites: readonly IdentityInvite[],
  now: Date,
): Promise<ShownIdentityInvite[]> {
  const environments = await tx.find(Environment, {
    where: [...new Set(invites.map(({ environmentId }) => environmentId))].map((id) => ({ id })),
    select: { id: true, name: true },
  });
  const names = new Map(environments.map(({ id, name }) => [id, name]));
  return invites.map((invite) => ({
    ...invite,
    status: inviteStatusOf(invite, now),
    environmentName: names.get(invite.environmentId) ?? '',
  }));
}

export interface IdentityInvitesSummary {
  total: number;
  pending: number;
  /** Pending invites that offer a role. */
  pendingWithRole: number;
  accepted: number;
  expired: number;
  revoked: number;
}

/** Counts invites by their current status. */
export async function invitesSummary(
  tx: EntityManager,
  scope: AccountScope,
  { whose, now }: { whose: Whose; now: Date },
): Promise<IdentityInvitesSummary> {
  const query = invitesOf(tx, scope, whose).setParameter('now', now).select('count(*)::int', 'total');
  for (const state of ['pending', 'accepted', 'expired', 'revoked']) {
    query.addSelect(`(count(*) filter (where ${computedStatus} = '${state}'))::int`, state);
  }
  query.addSelect(
    `(count(*) filter (where ${computedStatus} = 'pending' and cardinality(invite.role_ids) > 0))::int`,
    'pendingWithRole',
  );
  return (await query.getRawOne<IdentityInvitesSummary>()) as IdentityInvitesSummary;
}

function invitesOf(
  tx: EntityManager,
  scope: AccountScope,
  { organizationId, environmentId }: Whose,
): SelectQueryBuilder<IdentityInvite> {
  const query = tx.createQueryBuilder(IdentityInvite, 'invite').where(within(scope));
  if (scope.environmentId === undefined) query.andWhere(environmentExists('invite'));
  if (organizationId !== undefined)
    return query.andWhere('invite.organizationId = :organizationId', { organizationId });
  if (environmentId === undefined) return query.andWhere(`invite.intent <> 'organization'`);
  if (environmentId === null) return query.andWhere(`invite.intent = 'directory'`);
  // Another parameter name than that of the caller's Environment, which `within` has set in the query.
  return query.andWhere(`invite.intent = 'activate' and invite.environmentId = :leadsTo`, { leadsTo: environmentId });
}
