import { type EntityManager, In } from 'typeorm';
import { Role } from '../../../entities/role.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, within } from '../../platform/db.js';
import type { Caller } from '../caller.js';
import { DomainError, type ErrorCode } from '../errors.js';
import { isActive } from '../hierarchy/active.js';
import { find, rootOf } from '../hierarchy/nodes.js';
import type { Page, PageRequest } from '../paging.js';
import { lackingOf, refusedTo } from '../refused-to.js';
import type { EnvironmentScope } from '../scope.js';
import {
  type AssignmentResult,
  type Placed,
  place,
  type WantedAssignment,
  type WantedByNewcomer,
  write,
} from './assigning.js';
import { listAssignments, type NamedAssignment, withNames } from './assignment-lists.js';
import type { Evaluation } from './evaluate.js';
import { lackingAtEach, type WantedGrant } from './granting.js';
import type { Asked, Rights } from './rights.js';
import { tiesInside } from './strangers.js';
import { takeAway } from './taking.js';
import { keepMembers, untilNothingVanishes } from './vanishing.js';

/** Null as the node is the Environment's root. */
export type RoleAtNode = Pick<WantedAssignment, 'roleId' | 'nodeId'>;

export interface AssignmentsDeps {
  db: Db;
  evaluation: Evaluation;
  rights: Rights;
  now: Clock;
}

/** What giving and taking asks of a caller, at the node. */
const assigning = { permissions: ['rbac.assign_roles'], capability: 'env_roles.manage' } as const;
const viewing = { permissions: ['rbac.view_roles'], capability: 'env_roles.view' } as const;

/** A code of `refusals`, as it is thrown. */
const refusalOf = (caller: Caller, code: ErrorCode): DomainError =>
  code === lackingOf[caller.type] ? refusedTo(caller, assigning) : new DomainError(code);

/** Who holds which role where (contract §5, §10). Whoever gives one must hold at that node all that it allows. */
export function createAssignments({ db, evaluation, rights, now }: AssignmentsDeps) {
  /** The permissions of each role, by id. */
  async function keysOf(tx: EntityManager, scope: EnvironmentScope, roleIds: readonly string[]) {
    const rows = await tx.query<{ id: string; keys: string[] }[]>(
      `select rp.role_id as id, array_agg(p.key) as keys from role_permissions rp join permissions p on p.id = rp.permission_id
       where rp.environment_id = $1 and rp.role_id = any($2) group by rp.role_id`,
      [scope.environmentId, roleIds],
    );
    return new Map(rows.map(({ id, keys }) => [id, keys]));
  }

  /** Why the caller may not give these, each at its node; null where they may. In order. */
  async function refusals(
    scope: EnvironmentScope,
    caller: Caller,
    wanted: readonly (WantedGrant & { nodeId: string })[],
  ): Promise<(ErrorCode | null)[]> {
    const nodeIds = wanted.map(({ nodeId }) => nodeId);
    const holds = await rights.holdsAtEach(scope, caller, assigning, nodeIds);
    const there = wanted.filter(({ nodeId }) => holds.get(nodeId) === 'held');
    const ungranted = await lackingAtEach(evaluation, scope, caller, there);
    const refused = new Set(there.filter((_, i) => ungranted[i]?.length));
    return wanted.map((one) => {
      const holding = holds.get(one.nodeId);
      if (holding !== 'held') return holding === 'lacking' ? lackingOf[caller.type] : 'nodes.node_not_found';
      return refused.has(one) ? 'role.cannot_grant' : null;
    });
  }

  /** Where each would be, or the code of what is not there or may not be given by the caller; in order. */
  async function grantable<W extends WantedByNewcomer & { identityId?: string }>(
    scope: EnvironmentScope,
    caller: Caller,
    wanted: readonly W[],
    at: Date,
  ): Promise<(Placed<W> | ErrorCode)[]> {
    const { placed, keys } = await db.transaction(scope, async (tx) => {
      const found = await place(tx, scope, wanted, at);
      const roleIds = found.flatMap((one) => (typeof one === 'string' ? [] : [one.roleId]));
      return { placed: found, keys: await keysOf(tx, scope, [...new Set(roleIds)]) };
    });
    // What one asks of the caller is the same for all with its role and node.
    const asked = new Map(
      placed.flatMap((one) =>
        typeof one === 'string' ? [] : [[grantOf(one), { nodeId: one.nodeId, keys: keys.get(one.roleId) ?? [] }]],
      ),
    );
    const refused = await refusals(scope, caller, [...asked.values()]);
    const codes = new Map([...asked.keys()].map((grant, i) => [grant, refused[i]]));
    return placed.map((one) => (typeof one === 'string' ? one : (codes.get(grantOf(one)) ?? one)));
  }

  async function assertMayAssign(scope: EnvironmentScope, caller: Caller, nodeId: string): Promise<void> {
    const held = await rights.holdsAt(scope, caller, assigning, nodeId);
    if (held !== 'held') throw refusedTo(caller, assigning);
  }

  /** Who of some Identities is nobody to an administrator of a part: without a role and without an organization in it. */
  async function strangers(scope: EnvironmentScope, caller: Caller, asked: Asked, ids: readonly string[]) {
    const reach = rights.partOf(scope, caller, asked);
    if (reach === null) return new Set();
    const ties = await tiesInside(db, scope, caller, { identityIds: ids, reach });
    return new Set(ids.filter((id) => !ties.get(id)?.isMember && !ties.get(id)?.isHolder));
  }

  /** Any number of them, each on its own: what is wrong with one keeps no other from being made. */
  function assignAll(
    scope: EnvironmentScope,
    caller: Caller,
    wanted: readonly WantedAssignment[],
  ): Promise<AssignmentResult[]> {
    return untilNothingVanishes(async () => {
      const at = now();
      const identityIds = [...new Set(wanted.map(({ identityId }) => identityId))];
      const unknown = await strangers(scope, caller, assigning, identityIds);
      const placed = (await grantable(scope, caller, wanted, at)).map((one, i) =>
        unknown.has(wanted[i]?.identityId) ? ('identity.not_found' as const) : one,
      );
      const allowed = placed.filter((one) => typeof one !== 'string');
      const written = await db.transaction(scope, async (tx) => {
        await keepMembers(tx, scope, allowed);
        return write(tx, scope, allowed, at);
      });
      let next = 0;
      return placed.map(
        (one): AssignmentResult => (typeof one === 'string' ? failed(one) : (written[next++] as AssignmentResult)),
      );
    });
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
      if (!result || result.status === 'failed') throw new DomainError(result?.code ?? 'identity.not_found');
      const { assignment, status } = result;
      const [shown] = await db.transaction(scope, (tx) => withNames(tx, scope, [assignment]));
      return { assignment: shown as NamedAssignment, isNew: status === 'created' };
    },

    /**
     * The same for an Identity that is being made, in the transaction that makes it; open in time. What is refused undoes that.
     * @throws DomainError permission.required (account.capability_required), role.not_found, nodes.node_not_found, role.cannot_grant
     */
    forNewcomer:
      (scope: EnvironmentScope, caller: Caller, { roleId, nodeId }: RoleAtNode) =>
      async (tx: EntityManager, identityId: string): Promise<void> => {
        const at = now();
        const wanted = { identityId, roleId, nodeId, effectiveFrom: null, effectiveTo: null };
        const [placed] = await place(tx, scope, [wanted], at);
        if (!placed || typeof placed === 'string') throw new DomainError(placed ?? 'role.not_found');
        const keys = (await keysOf(tx, scope, [roleId])).get(roleId) ?? [];
        const [refused] = await refusals(scope, caller, [{ keys, nodeId: placed.nodeId }]);
        if (refused) throw refusalOf(caller, refused);
        await write(tx, scope, [placed], at);
      },

    /**
     * The same for many Identities at once: what becomes of each wanted one is told before any of them is made.
     * @returns `places`, in order, each with its node or the code of why not; and what writes those that were allowed, in the
     *   transaction that makes the Identities
     * @throws (the writing) DomainError role.not_found, nodes.node_not_found where that went meanwhile
     */
    async forNewcomers(scope: EnvironmentScope, caller: Caller, wanted: readonly RoleAtNode[]) {
      const at = now();
      const open = { effectiveFrom: null, effectiveTo: null };
      return {
        places: await grantable(
          scope,
          caller,
          wanted.map((one) => ({ ...one, ...open })),
          at,
        ),
        give: (tx: EntityManager, placed: readonly Placed[]): Promise<unknown> => write(tx, scope, placed, at),
      };
    },

    /**
     * Whether the caller may give roles at a node, for a gift that is to be made later: nothing is given yet.
     * @param nodeId null is the root
     * @returns the node's id
     * @throws DomainError role.not_found, nodes.node_not_found, permission.required (account.capability_required), role.cannot_grant
     */
    async assertMayGive(
      tx: EntityManager,
      scope: EnvironmentScope,
      caller: Caller,
      { roleIds, nodeId }: { roleIds: readonly string[]; nodeId: string | null },
    ): Promise<string> {
      const roles = await tx.countBy(Role, { ...within(scope), id: In([...roleIds]) });
      if (roles < new Set(roleIds).size) throw new DomainError('role.not_found');
      const node = nodeId === null ? await rootOf(tx, scope) : await find(tx, scope, nodeId);
      const keys = [...(await keysOf(tx, scope, roleIds)).values()].flat();
      const [refused] = await refusals(scope, caller, [{ keys, nodeId: node.id }]);
      if (refused) throw refusalOf(caller, refused);
      return node.id;
    },

    /** Whether the caller may give and take roles at a node at all. @throws DomainError, the 403 of this kind of caller */
    assertMayAssign,

    /**
     * For an operation that names an Identity: an administrator of a part sees, gives and takes there only, and knows nobody else.
     * @throws DomainError identity.not_found
     */
    async assertKnown(scope: EnvironmentScope, caller: Caller, identityId: string, asked: 'view' | 'give') {
      const unknown = await strangers(scope, caller, asked === 'view' ? viewing : assigning, [identityId]);
      if (unknown.has(identityId)) throw new DomainError('identity.not_found');
    },

    /**
     * What an Identity holds and has not lost, whatever its window; to an administrator of a part, what it holds there. `q` is a part
     * of the role's or the node's name.
     */
    list: (
      scope: EnvironmentScope,
      caller: Caller,
      identityId: string,
      page: PageRequest<'created_at'>,
    ): Promise<Page<NamedAssignment>> =>
      listAssignments(db, scope, { identityId, part: rights.partOf(scope, caller, viewing), page }),

    /**
     * Takes assignments away, each on its own.
     * @param identityId where only those of one Identity are meant
     * @returns for each the code of why not, or null; in order
     */
    async removeAll(
      scope: EnvironmentScope,
      caller: Caller,
      ids: readonly string[],
      identityId?: string,
    ): Promise<(ErrorCode | null)[]> {
      const reach = await rights.reach(scope, caller, assigning);
      const part = rights.partOf(scope, caller, viewing);
      return db.transaction(scope, async (tx) => {
        const rows = await tx.query<{ id: string; isReached: boolean; isSeen: boolean }[]>(
          `select a.id, ($3::uuid[] is null or n.path && $3) and (not $5::boolean or ${isActive('n.path')}) as "isReached",
             $6::uuid[] is null or n.path && $6 as "isSeen"
           from role_assignments a join nodes n on n.id = a.node_id
           where a.environment_id = $1 and a.id = any($2) and a.removed_at is null
             and ($4::uuid is null or a.identity_id = $4)
           order by a.id for update of a`,
          // End users' roles do not count at or below a node that is inactive (contract §5).
          [scope.environmentId, ids, reach, identityId ?? null, caller.type === 'identity', part],
        );
        const reached = rows.filter(({ isReached }) => isReached).map(({ id }) => id);
        await takeAway(tx, scope, reached, now());
        const found = new Map(rows.map((row) => [row.id, row]));
        return ids.map((id) => {
          const row = found.get(id);
          if (row?.isReached) return null;
          return row?.isSeen ? lackingOf[caller.type] : 'role_assignments.not_found';
        });
      });
    },
  };
}

export type Assignments = ReturnType<typeof createAssignments>;

/** What is the same of a caller's right to give two of them. */
const grantOf = ({ roleId, nodeId }: Pick<Placed, 'roleId' | 'nodeId'>) => `${roleId} ${nodeId}`;

const failed = (code: ErrorCode): AssignmentResult => ({ status: 'failed', code });
