import type { EntityManager } from 'typeorm';
import { ScimAssignment } from '../../../entities/scim-assignment.js';
import { write } from '../access/assigning.js';
import { takeAway } from '../access/taking.js';
import type { Directory } from './directory.js';

interface Held {
  identityId: string;
  roleId: string;
  nodeId: string;
}

const atOnce = 500;
const keyOf = ({ identityId, roleId, nodeId }: Held) => `${identityId} ${roleId} ${nodeId}`;

/**
 * Has people hold what the groups stand for that they are in, and of what groups were the reason for, nothing else; in the
 * transaction of the change. What somebody was given by hand is neither given again nor taken.
 */
export async function settleRoles(
  tx: EntityManager,
  directory: Directory,
  identityIds: readonly string[],
  at: Date,
): Promise<void> {
  for (let i = 0; i < identityIds.length; i += atOnce)
    await settleSome(tx, directory, identityIds.slice(i, i + atOnce), at);
}

async function settleSome(tx: EntityManager, directory: Directory, ids: readonly string[], at: Date): Promise<void> {
  const { scope, directoryId, organizationId } = directory;
  const values = [scope.accountId, scope.environmentId, directoryId, ids];
  const wanted = await tx.query<Held[]>(
    `select distinct gm.identity_id as "identityId", p.role_id as "roleId", p.node_id as "nodeId"
     from scim_group_members gm
       join scim_groups g on g.id = gm.group_id and g.directory_id = $3
       join scim_group_mappings p on p.directory_id = g.directory_id
         and (p.group_id = g.id or p.group_name_key = g.display_name_key)
     where gm.account_id = $1 and gm.environment_id = $2 and gm.identity_id = any($4)${
       organizationId === null
         ? ''
         : ` and exists (select from organization_members o where o.organization_id = $3 and o.identity_id = gm.identity_id)
     and exists (select from nodes n where n.id = p.node_id and n.environment_id = $2 and $3 = any(n.path))`
     }`,
    values,
  );
  const there = await tx.query<(Held & { id: string })[]>(
    `select a.id, a.identity_id as "identityId", a.role_id as "roleId", a.node_id as "nodeId"
     from role_assignments a join scim_assignments s on s.assignment_id = a.id and s.directory_id = $3
     where a.account_id = $1 and a.environment_id = $2 and a.identity_id = any($4) and a.removed_at is null`,
    values,
  );
  const [wantedKeys, thereKeys] = [new Set(wanted.map(keyOf)), new Set(there.map(keyOf))];
  const superfluous = there.filter((one) => !wantedKeys.has(keyOf(one))).map(({ id }) => id);
  await takeAway(tx, scope, superfluous, at);
  await tx.query('delete from scim_assignments where account_id = $1 and assignment_id = any($2)', [
    scope.accountId,
    superfluous,
  ]);
  await give(
    tx,
    directory,
    wanted.filter((one) => !thereKeys.has(keyOf(one))),
    at,
  );
}

/** Made by groups: what is there already, by hand, stays what it is. */
async function give(tx: EntityManager, { scope, directoryId }: Directory, missing: readonly Held[], at: Date) {
  if (missing.length === 0) return;
  const over = await overAt(tx, scope.environmentId, missing, at);
  const placed = missing.map((one) => ({
    ...one,
    // An open beginning would overlap with a window that is over.
    effectiveFrom: over.has(keyOf(one)) ? at : null,
    effectiveTo: null,
  }));
  const written = await write(tx, scope, placed, at);
  const { accountId, environmentId } = scope;
  const rows = written.flatMap((result): ScimAssignment[] =>
    result.status === 'created' ? [{ assignmentId: result.assignment.id, accountId, environmentId, directoryId }] : [],
  );
  if (rows.length > 0) await tx.insert(ScimAssignment, rows);
}

/** Those that somebody held once within a window that has ended. */
async function overAt(tx: EntityManager, environmentId: string, held: readonly Held[], at: Date): Promise<Set<string>> {
  const rows = await tx.query<Held[]>(
    `select a.identity_id as "identityId", a.role_id as "roleId", a.node_id as "nodeId" from role_assignments a
     where a.environment_id = $1 and a.identity_id = any($2) and a.role_id = any($3) and a.node_id = any($4)
       and a.removed_at is null and a.effective_to <= $5`,
    [
      environmentId,
      held.map(({ identityId }) => identityId),
      held.map(({ roleId }) => roleId),
      held.map(({ nodeId }) => nodeId),
      at,
    ],
  );
  return new Set(rows.map(keyOf));
}
