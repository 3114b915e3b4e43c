import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { Caller } from '../../caller.js';
import { isActive } from '../../hierarchy/active.js';
import type { ReachedNodes } from '../rights.js';

/** How a person is tied to a part of the tree: in it or anywhere below. */
export interface Ties {
  /** Member of an organization there. */
  isMember: boolean;
  /** Holder of a role there, whatever its window. */
  isHolder: boolean;
}

/** What lets a caller read all people. */
export const readingPeople = {
  permissions: ['identity.view', 'identity.manage'],
  capability: 'identities.view',
} as const;

const tiesStatement = {
  name: 'what_ties_identities_to_a_part',
  text: `
select wanted.id,
  exists (select from organization_members m join nodes n on n.id = m.organization_id
    where m.account_id = $1 and m.environment_id = $2 and m.identity_id = wanted.id and n.path && $4::uuid[]
      and (not $5::boolean or ${isActive('n.path')})) as "isMember",
  exists (select from role_assignments a join nodes n on n.id = a.node_id
    where a.environment_id = $2 and a.identity_id = wanted.id and a.removed_at is null and n.path && $4::uuid[]
      and (not $5::boolean or ${isActive('n.path')})) as "isHolder"
from unnest($3::uuid[]) wanted (id)`,
};

/** How each of some Identities, which need not exist, is tied to the part of the tree that a caller reaches. */
export async function tiesInside(
  db: Pick<Db, 'statement'>,
  { accountId, environmentId }: EnvironmentScope,
  caller: Caller,
  { identityIds, reach }: { identityIds: readonly string[]; reach: NonNullable<ReachedNodes> },
): Promise<Map<string, Ties>> {
  // What an end user holds counts nowhere below a node that is inactive (contract §5).
  const values = [accountId, environmentId, identityIds, reach, caller.type === 'identity'];
  const rows = await db.statement<{ id: string } & Ties>(tiesStatement, values);
  return new Map(rows.map(({ id, ...ties }) => [id, ties]));
}

const othersStatement = {
  name: 'who_of_some_identities_belongs_to_others',
  text: `
with part as materialized (
  select n.id, n.path from nodes n where n.environment_id = $2 and n.id = any($4) and ${isActive('n.path')}
)
select wanted.id from unnest($3::uuid[]) wanted (id)
where not exists (select from nodes root where root.environment_id = $2 and root.id = any($5) and root.parent_node_id is null)
  and exists (select from organization_members m
    where m.account_id = $1 and m.environment_id = $2 and m.identity_id = wanted.id)
  and not exists (select from organization_members m join nodes n on n.id = m.organization_id
    where m.account_id = $1 and m.environment_id = $2 and m.identity_id = wanted.id
      and (n.path && array(select id from part) or n.id = any(array(select unnest(path) from part))))
  and not exists (select from role_assignments a join nodes n on n.id = a.node_id
    where a.environment_id = $2 and a.identity_id = wanted.id and a.removed_at is null
      and n.path && array(select id from part))`,
};

/**
 * Returns which Identities belong to others: members of organizations that are neither in the end user's part of the
 * tree nor around it, and without a role in it. People without an organization belong to nobody.
 * @param reads where the end user reads people; at the root, all of them
 */
export async function othersPeople(
  db: Pick<Db, 'statement'>,
  { accountId, environmentId }: EnvironmentScope,
  { identityIds, reach, reads }: Record<'identityIds' | 'reach' | 'reads', readonly string[]>,
): Promise<Set<string>> {
  const values = [accountId, environmentId, identityIds, reach, reads];
  return new Set((await db.statement<{ id: string }>(othersStatement, values)).map(({ id }) => id));
}
