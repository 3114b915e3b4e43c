import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { isActive } from '../../hierarchy/active.js';
import { inForce } from './in-force.js';

/** A page of ids in ascending order, and where the next one begins; null after the last. */
export interface FoundPage {
  ids: string[];
  next: string | null;
}

export interface SearchPage {
  /** The last id of the page before. */
  after: string | null;
  limit: number;
}

/**
 * SQL: the role of an assignment `a` is active and holds the permission with this key, which is looked up once and not
 * for each role.
 */
const allows = (key: string) => `
  exists (select from role_permissions where role_id = a.role_id
    and permission_id = (select id from permissions where environment_id = $1 and key = ${key}))
  and exists (select from roles where id = a.role_id and is_active)`;
/**
 * SQL: `n` is the node with an id, where null is the root. A `case` around the comparison itself would read every node.
 */
const rootIfNull = (id: string) => `n.id = case when ${id}::uuid is null
  then (select id from nodes where environment_id = $1 and parent_node_id is null) else ${id} end`;

const subjectsStatement = {
  name: 'search_subjects',
  // Everybody who holds such a role there or above is found in one pass, and looked up as a member only for the page:
  // at the root that may be everybody.
  text: `
with place as materialized (
  select n.path from nodes n where n.environment_id = $1 and ${rootIfNull('$2')} and ${isActive('n.path')}
), granting as materialized (
  select coalesce(array_agg(r.id), '{}') as ids from role_permissions rp
    cross join lateral (select id from roles where id = rp.role_id and is_active offset 0) r
  where rp.permission_id = (select id from permissions where environment_id = $1 and key = $3)
), found as materialized (
  select distinct a.identity_id as id from granting, place cross join unnest(place.path) at (id) cross join lateral (
      select identity_id, role_id, environment_id, effective_from, effective_to, removed_at from role_assignments
      where node_id = at.id and removed_at is null offset 0) a
  where a.environment_id = $1 and a.role_id = any(granting.ids) and ${inForce('$4')} and ($5::uuid is null or a.identity_id > $5)
)
select f.id from (select id from found order by id offset 0) f cross join lateral (
    select from environment_memberships where environment_id = $1 and identity_id = f.id and is_active offset 0) m
order by f.id limit $6`,
};
const resourcesStatement = {
  name: 'search_resources',
  // What stands below is found by the owner's function, and in its order: for row-level security the planner would go
  // through the nodes of everybody.
  text: `
with held as materialized (
  select coalesce(array_agg(a.node_id), '{}') as ids from role_assignments a
  where a.identity_id = $2 and a.environment_id = $1 and ${inForce('$4')} and ${allows('$3')}
    and exists (select from environment_memberships where environment_id = $1 and identity_id = $2 and is_active)
), found as materialized (
  select below.id from held, environments e, gatehouse_subtree(e.account_id, $1, held.ids) below (id)
  where e.id = $1 and ($5::uuid is null or below.id > $5) order by below.id
)
select found.id from found cross join lateral (select path from nodes where id = found.id and environment_id = $1 offset 0) n
where ${isActive('n.path')} order by found.id limit $6`,
};
const actionsStatement = {
  name: 'search_actions',
  // Roles first, and then their permissions: an Environment may have a thousand permissions, which would be tried one
  // by one.
  text: `
with held as materialized (
  select distinct r.id from nodes n join role_assignments a on a.node_id = any(n.path)
    join roles r on r.id = a.role_id and r.is_active
  where n.environment_id = $1 and ${rootIfNull('$3')} and ${isActive('n.path')}
    and a.identity_id = $2 and a.environment_id = $1 and ${inForce('$4')}
    and exists (select from environment_memberships where environment_id = $1 and identity_id = $2 and is_active)
)
select distinct p.key as id from held
  cross join lateral (select permission_id from role_permissions where role_id = held.id offset 0) rp
  cross join lateral (select key from permissions where id = rp.permission_id offset 0) p
where $5::text is null or p.key > $5 order by id limit $6`,
};

/** The questions behind a decision, asked the other way around (AuthZEN 1.0 §8): who, where, and what. */
export function createSearch({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  async function page(
    statement: typeof subjectsStatement,
    asked: [environmentId: string, first: string | null, second: string | null],
    { after, limit }: SearchPage,
  ): Promise<FoundPage> {
    const rows = await db.statement<{ id: string }>(statement, [...asked, now(), after, limit + 1]);
    const ids = rows.slice(0, limit).map(({ id }) => id);
    return { ids, next: rows.length > limit ? (ids.at(-1) ?? null) : null };
  }

  return {
    /** Identities that may do it at a node; null is the root. */
    subjects: (
      environmentId: string,
      { nodeId, permission }: { nodeId: string | null; permission: string },
      of: SearchPage,
    ) => page(subjectsStatement, [environmentId, nodeId, permission], of),
    /** Nodes at which an Identity may do it. */
    resources: (
      environmentId: string,
      { identityId, permission }: { identityId: string; permission: string },
      of: SearchPage,
    ) => page(resourcesStatement, [environmentId, identityId, permission], of),
    /** Keys of what an Identity may do at a node; null is the root. */
    actions: (
      environmentId: string,
      { identityId, nodeId }: { identityId: string; nodeId: string | null },
      of: SearchPage,
    ) => page(actionsStatement, [environmentId, identityId, nodeId], of),
  };
}

export type AccessSearch = ReturnType<typeof createSearch>;
