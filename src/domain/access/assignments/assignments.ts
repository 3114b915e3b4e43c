import { type EntityManager, In } from 'typeorm';
import { Role } from '../../../../entities/role.js';
import type { Clock } from '../../../platform/clock.js';
import { type Db, within } from '../../../platform/database/db.js';
import { retryingDeadlocks } from '../../../platform/database/retry-deadlocks.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { Caller } from '../../caller.js';
import { DomainError, type ErrorCode } from '../../errors.js';
import { forbiddenCodes, forbiddenFor } from '../../forbidden.js';
import { isActive } from '../../hierarchy/active.js';
import { findNode, rootOf } from '../../hierarchy/nodes.js';
import type { Page, PageRequest } from '../../lists/paging.js';
import type { Evaluation } from '../decisions/evaluate.js';
import type { Rights } from '../rights.js';
import {
  type AssignmentResult,
  type PlacedAssignment,
  placeAssignments,
  type WantedAssignment,
  writeAssignments,
} from './assigning.js';
import { assignByHand } from './by-hand.js';
import { lockMembers, retryWhenRemoved } from './concurrent-removal.js';
import { assigning, createGrantRules, permissionKeysOf } from './grant-rules.js';
import { listAssignments, type NamedAssignment, withNames } from './lists.js';
import { removeAssignments } from './removing.js';

/** A node of null is the Environment's root. */
export type RoleAtNode = Pick<WantedAssignment, 'roleId' | 'nodeId'>;

export interface AssignmentsDeps {
  db: Db;
  evaluation: Evaluation;
  rights: Rights;
  now: Clock;
}

const viewing = { permissions: ['rbac.view_roles'], capability: 'env_roles.view' } as const;

/** Role assignments (contract §5, §10). A caller who grants a role must hold all of its permissions at that node. */
export function createAssignments({ db, evaluation, rights, now }: AssignmentsDeps) {
  const grantRules = createGrantRules({ db, evaluation, rights });

  async function assertMayAssign(scope: EnvironmentScope, caller: Caller, nodeId: string): Promise<void> {
    const held = await rights.holdsAt(scope, caller, assigning, nodeId);
    if (held !== 'held') throw forbiddenFor(caller, assigning);
  }

  /** Assigns any number of roles, each independently: a refusal does not stop the others. */
  function assignAll(
    scope: EnvironmentScope,
    caller: Caller,
    wanted: readonly WantedAssignment[],
  ): Promise<AssignmentResult[]> {
    const attempt = async () => {
      const at = now();
      const identityIds = [...new Set(wanted.map(({ identityId }) => identityId))];
      const unknown = await grantRules.strangers(scope, caller, assigning, identityIds);
      const places = await grantRules.places(scope, caller, wanted, at);
      const placed = places.map((one, i) =>
        unknown.has((wanted[i] as WantedAssignment).identityId) ? new DomainError('identity.not_found') : one,
      );
      const allowed = placed.filter((one): one is PlacedAssignment => !(one instanceof DomainError));
      const { there, written } = await db.transaction(scope, async (tx) => {
        const there = await lockMembers(tx, scope, allowed);
        const still = allowed.filter(({ identityId }) => there.has(identityId));
        return { there, written: await assignByHand(tx, scope, still, at) };
      });
      let next = 0;
      return placed.map((one): AssignmentResult => {
        if (one instanceof DomainError) return { status: 'failed', error: one };
        if (there.has(one.identityId)) return written[next++] as AssignmentResult;
        return { status: 'failed', error: new DomainError('identity.not_found') }; // left the Environment meanwhile
      });
    };
    // A change of a directory locks roles that it removes before it assigns others.
    return retryingDeadlocks(() => retryWhenRemoved(attempt));
  }

  return {
    assignAll,

    /** @throws DomainError with the code of what is wrong; role_assignments.overlapping */
    async assign(
      scope: EnvironmentScope,
      caller: Caller,
      wanted: WantedAssignment,
    ): Promise<{ assignment: NamedAssignment; isNew: boolean }> {
      const [result] = await assignAll(scope, caller, [wanted]);
      if (!result || result.status === 'failed') throw result?.error ?? new DomainError('identity.not_found');
      const { assignment, status } = result;
      const [shown] = await db.transaction(scope, (tx) => withNames(tx, scope, [assignment]));
      return { assignment: shown as NamedAssignment, isNew: status === 'created' };
    },

    /**
     * For an Identity that is being created, in its transaction, and without time limits. A refusal rolls that back.
     * @throws DomainError permission.required (account.capability_required), role.not_found, nodes.node_not_found,
     *   role.cannot_grant
     */
    forNewcomer:
      (scope: EnvironmentScope, caller: Caller, { roleId, nodeId }: RoleAtNode) =>
      async (tx: EntityManager, identityId: string): Promise<void> => {
        const at = now();
        const wanted = { identityId, roleId, nodeId, effectiveFrom: null, effectiveTo: null };
        const [placed] = await placeAssignments(tx, scope, [wanted], at);
        if (!placed || typeof placed === 'string') throw new DomainError(placed ?? 'role.not_found');
        const keys = (await permissionKeysOf(tx, scope, [roleId])).get(roleId) ?? [];
        const [refused] = await grantRules.refusals(scope, caller, [{ keys, nodeId: placed.nodeId }]);
        if (refused) throw refused;
        await writeAssignments(tx, scope, [placed], at);
      },

    /**
     * For many Identities, in two steps: first whether each assignment is allowed, then the writing.
     * @returns `places`: the node or refusal of each, in order; `assign`: writes the allowed ones, in the caller's
     *   transaction
     * @throws (from `assign`) DomainError role.not_found, nodes.node_not_found if one was deleted meanwhile
     */
    async forNewcomers(scope: EnvironmentScope, caller: Caller, wanted: readonly RoleAtNode[]) {
      const at = now();
      const open = { effectiveFrom: null, effectiveTo: null };
      return {
        places: await grantRules.places(
          scope,
          caller,
          wanted.map((one) => ({ ...one, ...open })),
          at,
        ),
        assign: (tx: EntityManager, placed: readonly PlacedAssignment[]): Promise<unknown> =>
          writeAssignments(tx, scope, placed, at),
      };
    },

    /**
     * Checks that the caller may give roles at a node; they are assigned later, as by an invite.
     * @param wanted at which node (null: the root), and to whom, if that is known
     * @returns the node's id
     * @throws DomainError role.not_found, nodes.node_not_found, permission.required (account.capability_required),
     *   role.cannot_grant
     */
    async assertMayGrant(
      tx: EntityManager,
      scope: EnvironmentScope,
      caller: Caller,
      {
        roleIds,
        nodeId,
        identityId,
        field,
      }: { roleIds: readonly string[]; nodeId: string | null; identityId?: string | null; field?: string },
    ): Promise<string> {
      const roles = await tx.countBy(Role, { ...within(scope), id: In([...roleIds]) });
      if (roles < new Set(roleIds).size) throw new DomainError('role.not_found');
      const node = nodeId === null ? await rootOf(tx, scope) : await findNode(tx, scope, nodeId);
      const keys = [...(await permissionKeysOf(tx, scope, roleIds)).values()].flat();
      const [refused] = await grantRules.refusals(scope, caller, [{ keys, nodeId: node.id, identityId, field }]);
      if (refused) throw refused;
      return node.id;
    },

    /** Checks the right to give and remove roles at a node. @throws DomainError, the 403 of this kind of caller */
    assertMayAssign,

    /** To an administrator of a part of the tree, only its people exist. @throws DomainError identity.not_found */
    async assertKnown(scope: EnvironmentScope, caller: Caller, identityId: string, purpose: 'view' | 'assign') {
      const unknown = await grantRules.strangers(scope, caller, purpose === 'view' ? viewing : assigning, [identityId]);
      if (unknown.has(identityId)) throw new DomainError('identity.not_found');
    },

    /**
     * The assignments of an Identity that were not removed, whatever their window; an administrator of a part sees
     * those in that part. `q` is part of the role's or the node's name.
     */
    list: (
      scope: EnvironmentScope,
      caller: Caller,
      identityId: string,
      page: PageRequest<'created_at'>,
    ): Promise<Page<NamedAssignment>> =>
      listAssignments(db, scope, { identityId, part: rights.partOf(scope, caller, viewing), page }),

    /**
     * Removes assignments, each independently.
     * @param identityId limits the removal to one Identity, who was found to be known to the caller
     * @returns for each, in order, the code of its refusal, or null
     */
    async removeAll(
      scope: EnvironmentScope,
      caller: Caller,
      ids: readonly string[],
      identityId?: string,
    ): Promise<(ErrorCode | null)[]> {
      const reach = await rights.reach(scope, caller, assigning);
      const part = rights.partOf(scope, caller, viewing);
      const rows = await db.transaction(scope, async (tx) => {
        const rows = await tx.query<{ id: string; identityId: string; isReached: boolean; isSeen: boolean }[]>(
          `select a.id, a.identity_id as "identityId", ($3::uuid[] is null or n.path && $3) and (not $5::boolean or ${isActive('n.path')}) as "isReached",
             $6::uuid[] is null or n.path && $6 as "isSeen"
           from role_assignments a join nodes n on n.id = a.node_id
           where a.environment_id = $1 and a.id = any($2) and a.removed_at is null
             and ($4::uuid is null or a.identity_id = $4)
           order by a.id for update of a`,
          // End users' roles do not count at or below a node that is inactive (contract §5).
          [scope.environmentId, ids, reach, identityId ?? null, caller.type === 'identity', part],
        );
        const reached = rows.filter(({ isReached }) => isReached).map(({ id }) => id);
        await removeAssignments(tx, scope, reached, now());
        return rows;
      });
      const refused = rows.filter(({ isReached, isSeen }) => !isReached && isSeen);
      const holders = identityId === undefined ? [...new Set(refused.map((row) => row.identityId))] : [];
      const unknown = holders.length > 0 ? await grantRules.strangers(scope, caller, assigning, holders) : new Set();
      const forbidden = new Set(refused.filter((row) => !unknown.has(row.identityId)).map(({ id }) => id));
      const removed = new Set(rows.filter(({ isReached }) => isReached).map(({ id }) => id));
      return ids.map((id) => {
        if (removed.has(id)) return null;
        return forbidden.has(id) ? forbiddenCodes[caller.type] : 'role_assignments.not_found';
      });
    },
  };
}

export type Assignments = ReturnType<typeof createAssignments>;
