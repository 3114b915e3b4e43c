import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import type { InviteStatus } from '../../../entities/administrator-invite.js';
import { Environment } from '../../../entities/environment.js';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import { within } from '../../platform/db.js';
import { statusOf } from '../invites/process.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import { readRowCount } from '../row-counts.js';
import type { AccountScope } from '../scope.js';
import { environmentStands } from '../standing-environment.js';

/** An invite as it is shown: its status as of now. */
export interface ShownIdentityInvite extends IdentityInvite {
  environmentName: string;
}

export type IdentityInviteSort = 'created_at' | 'expires_at' | 'email';

export interface IdentityInvitesPage extends PageRequest<IdentityInviteSort> {
  status?: InviteStatus | undefined;
}

/** Which invites: those of organizations are lists of their own. */
export interface Whose {
  organizationId?: string;
  /** Only those that lead into this Environment; null: only those that lead into none. */
  environmentId?: string | null | undefined;
}

const columns: Record<IdentityInviteSort, string[]> = {
  created_at: ['invite.createdAt', 'invite.id'],
  expires_at: ['invite.expiresAt', 'invite.id'],
  email: ['invite.email', 'invite.id'],
};

const computedStatus = `case when invite.status = 'pending' and invite.expires_at <= :now then 'expired' else invite.status end`;

/** One page of the invites of an Environment, or of all of an Account's. */
export async function listInvites(
  tx: EntityManager,
  scope: AccountScope,
  { status, q, ...page }: IdentityInvitesPage,
  { whose, now }: { whose: Whose; now: Date },
): Promise<Page<ShownIdentityInvite>> {
  const query = invitesOf(tx, scope, whose);
  if (status) query.andWhere(`${computedStatus} = :status`, { status, now });
  if (q) {
    const names = `coalesce(invite.first_name, '') || ' ' || coalesce(invite.last_name, '')`;
    query.andWhere(`(invite.email::text ilike :pattern or ${names} ilike :pattern)`, { pattern: containing(q) });
  }
  const total = status || q ? undefined : await totalOf(tx, scope, whose);
  const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], total);
  return { ...rest, rows: await shown(tx, rows, now) };
}

/** Of all of them; undefined where nobody keeps it, since an organization's are few. */
async function totalOf(
  tx: EntityManager,
  { accountId, environmentId: own }: AccountScope,
  { organizationId, environmentId: into }: Whose,
): Promise<number | undefined> {
  if (organizationId !== undefined) return undefined;
  if (into && own !== undefined && into !== own) return 0;
  const intents = [
    ...(into === null ? [] : (['identity_invites_activate'] as const)),
    ...(into ? [] : (['identity_invites_directory'] as const)),
  ];
  return readRowCount(tx, { accountId, environmentId: own ?? into ?? undefined }, ...intents);
}

/** The one with this id, as long as it is one of those meant; null otherwise. With `lock`, it stays as it is. */
export async function findInvite(
  tx: EntityManager,
  scope: AccountScope,
  id: string,
  { whose, lock = false }: { whose: Whose; lock?: boolean },
): Promise<IdentityInvite | null> {
  const query = invitesOf(tx, scope, whose).andWhere('invite.id = :id', { id });
  return (lock ? query.setLock('pessimistic_write') : query).getOne();
}

/** With what their rows do not say. */
export async function shown(
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
    status: statusOf(invite, now),
    environmentName: names.get(invite.environmentId) ?? '',
  }));
}

export interface IdentityInvitesSummary {
  total: number;
  pending: number;
  /** That carry an initial role. */
  pendingWithRole: number;
  accepted: number;
  expired: number;
  revoked: number;
}

/** How many there are in which state, as of now. */
export async function summaryOf(
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
  if (scope.environmentId === undefined) query.andWhere(environmentStands('invite'));
  if (organizationId !== undefined)
    return query.andWhere('invite.organizationId = :organizationId', { organizationId });
  if (environmentId === undefined) return query.andWhere(`invite.intent <> 'organization'`);
  if (environmentId === null) return query.andWhere(`invite.intent = 'directory'`);
  // Named apart from the Environment of the caller, which `within` has put into the query.
  return query.andWhere(`invite.intent = 'activate' and invite.environmentId = :leadsTo`, { leadsTo: environmentId });
}
