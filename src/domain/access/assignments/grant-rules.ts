import type { EntityManager } from 'typeorm';
import type { Db } from '../../../platform/database/db.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { Caller } from '../../caller.js';
import { DomainError } from '../../errors.js';
import { cannotGrant, forbiddenFor } from '../../forbidden.js';
import type { Evaluation } from '../decisions/evaluate.js';
import type { RequiredRight, Rights } from '../rights.js';
import { lackingAtEach, type WantedGrant } from '../roles/granting.js';
import { type PlacedAssignment, placeAssignments, type WantedByNewcomer } from './assigning.js';
import { othersPeople, readingPeople, tiesInside } from './strangers.js';

export interface GrantRulesDeps {
  db: Db;
  evaluation: Evaluation;
  rights: Rights;
}

/** What a caller needs at a node to give or remove roles there. */
export const assigning = { permissions: ['rbac.assign_roles'], capability: 'env_roles.manage' } as const;

/**
 * Decides whether a caller may grant roles: only with permissions that they hold at that node (contract §5), and only
 * to people whom they are allowed to see (§6).
 */
export function createGrantRules({ db, evaluation, rights }: GrantRulesDeps) {
  /** For each wanted grant, in order: the refusal, or null if the caller may give it. */
  async function refusals(
    scope: EnvironmentScope,
    caller: Caller,
    wanted: readonly (WantedGrant & { nodeId: string })[],
  ): Promise<(DomainError | null)[]> {
    const nodeIds = wanted.map(({ nodeId }) => nodeId);
    const holds = await rights.holdsAtEach(scope, caller, assigning, nodeIds);
    const there = wanted.filter(({ nodeId }) => holds.get(nodeId) === 'held');
    const ungranted = await lackingAtEach(evaluation, scope, caller, there);
    const lacking = new Map(there.map((one, i) => [one, ungranted[i] ?? []]));
    return wanted.map((one) => {
      const holding = holds.get(one.nodeId);
      if (holding === 'node_not_found') return new DomainError('nodes.node_not_found');
      if (holding !== 'held') return forbiddenFor(caller, assigning);
      const keys = lacking.get(one) ?? [];
      return keys.length > 0 ? cannotGrant('role.cannot_grant', one.field ?? 'role_id', keys) : null;
    });
  }

  /** Which of some people belong to organizations outside the part of the tree in which an end user gives roles. */
  async function othersTo(
    scope: EnvironmentScope,
    caller: Caller,
    required: RequiredRight,
    identityIds: readonly string[],
  ) {
    const reach = (await rights.reach(scope, caller, required)) ?? [];
    const reads = (await rights.reach(scope, caller, readingPeople)) ?? [];
    return othersPeople(db, scope, { identityIds, reach, reads });
  }

  return {
    refusals,

    /** Each wanted assignment with its node, or its refusal; in order. */
    async places<W extends WantedByNewcomer & { identityId?: string }>(
      scope: EnvironmentScope,
      caller: Caller,
      wanted: readonly W[],
      at: Date,
    ): Promise<(PlacedAssignment<W> | DomainError)[]> {
      const { placed, keys } = await db.transaction(scope, async (tx) => {
        const found = await placeAssignments(tx, scope, wanted, at);
        const roleIds = found.flatMap((one) => (typeof one === 'string' ? [] : [one.roleId]));
        return { placed: found, keys: await permissionKeysOf(tx, scope, [...new Set(roleIds)]) };
      });
      const asked = new Map(
        placed.flatMap((one) =>
          typeof one === 'string' ? [] : [[grantOf(caller, one), wantedBy(one, keys.get(one.roleId))]],
        ),
      );
      const refused = await refusals(scope, caller, [...asked.values()]);
      const refusalOf = new Map([...asked.keys()].map((grant, i) => [grant, refused[i]]));
      return placed.map((one) =>
        typeof one === 'string' ? new DomainError(one) : (refusalOf.get(grantOf(caller, one)) ?? one),
      );
    },

    /**
     * Returns the Identities of which a caller whose rights cover only a part of the tree must not learn: none, if they
     * may read all people anyway. For an administrator: people with neither a role nor an organization in that part.
     * For an end user: people of another customer, since granting a role would reveal who they are
     * (docs/decisions/0020).
     */
    async strangers(
      scope: EnvironmentScope,
      caller: Caller,
      required: RequiredRight,
      ids: readonly string[],
    ): Promise<Set<string>> {
      if (caller.type === 'identity') return othersTo(scope, caller, required, ids);
      const reach = rights.partOf(scope, caller, required);
      if (reach === null || rights.partOf(scope, caller, readingPeople) === null) return new Set();
      const ties = await tiesInside(db, scope, caller, { identityIds: ids, reach });
      return new Set(ids.filter((id) => !ties.get(id)?.isMember && !ties.get(id)?.isHolder));
    },
  };
}

/** The permissions of each role, by id. */
export async function permissionKeysOf(tx: EntityManager, scope: EnvironmentScope, roleIds: readonly string[]) {
  const rows = await tx.query<{ id: string; keys: string[] }[]>(
    `select rp.role_id as id, array_agg(p.key) as keys from role_permissions rp join permissions p on p.id = rp.permission_id
     where rp.environment_id = $1 and rp.role_id = any($2) group by rp.role_id`,
    [scope.environmentId, roleIds],
  );
  return new Map(rows.map(({ id, keys }) => [id, keys]));
}

type PlacedFor = PlacedAssignment<WantedByNewcomer & { identityId?: string }>;

/**
 * A key by which assignments that need the same right are checked once: role and node, and the times of the caller's
 * own.
 */
const grantOf = (caller: Caller, { roleId, nodeId, identityId, effectiveFrom, effectiveTo }: PlacedFor) => {
  const isOwn = caller.type === 'identity' && caller.identityId === identityId;
  return `${roleId} ${nodeId} ${isOwn ? `${Number(effectiveFrom)} ${Number(effectiveTo)}` : ''}`;
};

const wantedBy = (
  { nodeId, identityId, effectiveFrom: from, effectiveTo: until }: PlacedFor,
  keys: readonly string[] = [],
) => ({ nodeId, keys, identityId, from, until });
