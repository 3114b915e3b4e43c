import type { EntityManager } from 'typeorm';
import { ScimAssignment } from '../../../entities/scim-assignment.js';
import { partsOf } from '../../platform/parts.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { type PlacedAssignment, writeAssignments } from '../access/assignments/assigning.js';
import { mapsGroup } from '../access/assignments/mapped-groups.js';
import { removeAssignments } from '../access/assignments/removing.js';
import type { Directory } from './directories.js';

interface Held {
  identityId: string;
  roleId: string;
  nodeId: string;
}

const atOnce = 500;
/** Rows per statement: people times the mappings of their groups have no upper bound. */
const maxAssigned = 2000;
const maxLooks = 3;
const keyOf = ({ identityId, roleId, nodeId }: Held) => `${identityId} ${roleId} ${nodeId}`;

/**
 * Grants people the roles of the groups that they are in, for all time from now on, and removes all other roles that
 * groups have granted them; in the transaction of the change. Roles assigned by hand are neither granted again nor
 * removed.
 */
export async function settleRoles(
  tx: EntityManager,
  directory: Directory,
  identityIds: readonly string[],
  at: Date,
): Promise<void> {
  for (const some of partsOf(identityIds, atOnce)) await settleSome(tx, directory, some, at);
}

async function settleSome(tx: EntityManager, directory: Directory, ids: readonly string[], at: Date): Promise<void> {
  const { scope, directoryId, organizationId } = directory;
  await lockPeople(tx, directory, ids);
  const values = [scope.accountId, scope.environmentId, directoryId, ids];
  const wanted = await tx.query<Held[]>(
    `select distinct gm.identity_id as "identityId", p.role_id as "roleId", p.node_id as "nodeId"
     from scim_group_members gm
       join scim_groups g on g.id = gm.group_id and g.directory_id = $3
       join scim_group_mappings p on ${mapsGroup('p', 'g')}
     where gm.account_id = $1 and gm.environment_id = $2 and gm.identity_id = any($4)${
       organizationId === null
         ? ''
         : ` and exists (select from organization_members o where o.organization_id = $3 and o.identity_id = gm.identity_id)
     and exists (select from nodes n where n.id = p.node_id and n.environment_id = $2 and $3 = any(n.path))`
     }`,
    values,
  );
  const there = await tx.query<(Held & { id: string; isWhole: boolean })[]>(
    `select a.id, a.identity_id as "identityId", a.role_id as "roleId", a.node_id as "nodeId",
       a.effective_to is null and (a.effective_from is null or a.effective_from <= $5) as "isWhole"
     from role_assignments a join scim_assignments s on s.assignment_id = a.id and s.directory_id = $3
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = any($4) and a.removed_at is null`,
    [...values, at],
  );
  const wantedKeys = new Set(wanted.map(keyOf));
  // All others are looked at: some were granted in part, around windows that may be gone by now.
  const wholeKeys = new Set(there.filter(({ isWhole }) => isWhole).map(keyOf));
  const superfluous = there.filter((one) => !wantedKeys.has(keyOf(one))).map(({ id }) => id);
  // What somebody is assigning by hand at this moment stays: it is the directory's no more once their change has ended.
  // The assignments are locked first, as by everybody who removes or deletes one.
  const [taken] = await tx.query<[{ id: string }[], number]>(
    `delete from scim_assignments where assignment_id in (
       select id from role_assignments where account_id = $1 and id = any($2) and removed_at is null
       order by id for no key update) returning assignment_id as id`,
    [scope.accountId, superfluous],
  );
  await removeAssignments(
    tx,
    scope,
    taken.map(({ id }) => id),
    at,
  );
  const missing = wanted.filter((one) => !wholeKeys.has(keyOf(one)));
  for (const some of partsOf(missing, maxAssigned)) await assign(tx, directory, some, at);
}

/**
 * Waits for transactions that are removing one of the people from the Environment or the organization: later reads do
 * not find that person any more. A removal that comes later finds the roles granted here, and removes them.
 */
async function lockPeople(
  tx: EntityManager,
  { scope, organizationId }: Directory,
  ids: readonly string[],
): Promise<void> {
  await tx.query('select from identities where account_id = $1 and id = any($2) order by id for key share', [
    scope.accountId,
    ids,
  ]);
  if (organizationId === null) return;
  await tx.query(
    `select from organization_members where environment_id = $1 and organization_id = $2 and identity_id = any($3)
     order by identity_id for key share`,
    [scope.environmentId, organizationId, ids],
  );
}

/** Assigns roles on behalf of groups, for the times that are free: assignments made by hand stay what they are. */
async function assign(tx: EntityManager, directory: Directory, wanted: readonly Held[], at: Date, look = 1) {
  if (wanted.length === 0) return;
  const { scope, directoryId } = directory;
  const free = await freeTimes(tx, scope, wanted, at);
  const written = await writeAssignments(tx, scope, free, at);
  const { accountId, environmentId } = scope;
  const rows = written.flatMap((result): ScimAssignment[] =>
    result.status === 'created' ? [{ assignmentId: result.assignment.id, accountId, environmentId, directoryId }] : [],
  );
  if (rows.length > 0) await tx.insert(ScimAssignment, rows);
  // Another transaction has assigned a window since the free times were read. It is visible now.
  const crossed = new Set(free.filter((_, i) => written[i]?.status === 'failed').map(keyOf));
  if (look < maxLooks) {
    const again = wanted.filter((one) => crossed.has(keyOf(one)));
    await assign(tx, directory, again, at, look + 1);
  }
}

/**
 * Returns the times from now on in which people do not hold the wanted roles: before, between and after existing
 * windows. The beginning stays open if there is no window before. Existing assignments are found by their holders: the
 * index by roles would read everybody who has a role, once for each person who is to have it.
 */
const freeTimes = (
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  wanted: readonly Held[],
  at: Date,
) =>
  tx.query<PlacedAssignment[]>(
    `select w.identity_id as "identityId", w.role_id as "roleId", w.node_id as "nodeId",
       case when not lower_inf(free) then greatest(lower(free), $6::timestamptz) end as "effectiveFrom",
       upper(free) as "effectiveTo"
     from unnest($3::uuid[], $4::uuid[], $5::uuid[]) as w (identity_id, role_id, node_id)
       left join (
         select a.identity_id, a.role_id, a.node_id, range_agg(tstzrange(a.effective_from, a.effective_to)) as windows
         from role_assignments a
         where a.account_id = $1 and a.environment_id = $2 and a.removed_at is null
           and a.identity_id = any($3) and (a.role_id = any($4)) is true and (a.node_id = any($5)) is true
         group by a.identity_id, a.role_id, a.node_id
       ) held using (identity_id, role_id, node_id)
       cross join unnest(tstzmultirange(tstzrange(null, null)) - coalesce(held.windows, '{}')) as free
     where upper_inf(free) or upper(free) > $6`,
    [
      accountId,
      environmentId,
      wanted.map(({ identityId }) => identityId),
      wanted.map(({ roleId }) => roleId),
      wanted.map(({ nodeId }) => nodeId),
      at,
    ],
  );
