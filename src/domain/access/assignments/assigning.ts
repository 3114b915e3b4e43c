import { type EntityManager, In } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentMembership } from '../../../../entities/environment-membership.js';
import { Node } from '../../../../entities/node.js';
import { Role } from '../../../../entities/role.js';
import { RoleAssignment } from '../../../../entities/role-assignment.js';
import { within } from '../../../platform/database/db.js';
import { insertNew } from '../../../platform/database/insert-new.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { DomainError, type ErrorCode, maxNamed } from '../../errors.js';
import { recordEvents } from '../../events/record.js';
import { openWindows } from '../windows/rows.js';
import { asNotFound } from './concurrent-removal.js';

/** An assignment that is asked for. A bound of null is open; a node of null is the Environment's root. */
export interface WantedAssignment {
  identityId: string;
  roleId: string;
  nodeId: string | null;
  effectiveFrom: Date | null;
  effectiveTo: Date | null;
  /** Whether the holder is mailed when its window begins, is about to end, and ends. By default not. */
  notifyHolder?: boolean;
}

/** The outcome for one: created, already there just like it, or refused. */
export type AssignmentResult =
  | { status: 'created' | 'exists'; assignment: RoleAssignment }
  | { status: 'failed'; error: DomainError };

/** A wanted assignment of an Identity that does not exist yet. */
export type WantedByNewcomer = Omit<WantedAssignment, 'identityId'>;

/** A wanted assignment whose Identity, role and node exist. */
export type PlacedAssignment<W extends WantedByNewcomer = WantedAssignment> = W & { nodeId: string };

/**
 * Each wanted assignment with its node, or the code of what is wrong with it; in order. Without an `identityId`, no
 * Identity is looked up.
 */
export async function placeAssignments<W extends WantedByNewcomer & { identityId?: string }>(
  tx: EntityManager,
  scope: EnvironmentScope,
  wanted: readonly W[],
  at: Date,
): Promise<(PlacedAssignment<W> | ErrorCode)[]> {
  const ids = (key: 'identityId' | 'roleId' | 'nodeId') => [...new Set(wanted.flatMap((one) => one[key] ?? []))];
  const identities = await tx.findBy(EnvironmentMembership, { ...within(scope), identityId: In(ids('identityId')) });
  const roles = await tx.findBy(Role, { ...within(scope), id: In(ids('roleId')) });
  const nodes = await tx.find(Node, {
    where: [
      { ...within(scope), id: In(ids('nodeId')) },
      { ...within(scope), nodeType: 'root' },
    ],
    select: { id: true, nodeType: true },
  });
  const known = {
    identity: new Set(identities.map(({ identityId }) => identityId)),
    role: new Set(roles.map(({ id }) => id)),
    node: new Set(nodes.map(({ id }) => id)),
  };
  const root = nodes.find(({ nodeType }) => nodeType === 'root')?.id as string;
  return wanted.map((one) => {
    const nodeId = one.nodeId ?? root;
    if (one.identityId !== undefined && !known.identity.has(one.identityId)) return 'identity.not_found';
    if (!known.role.has(one.roleId)) return 'role.not_found';
    if (!known.node.has(nodeId)) return 'nodes.node_not_found';
    const from = one.effectiveFrom !== null && one.effectiveFrom > at ? one.effectiveFrom : at;
    if (one.effectiveTo !== null && one.effectiveTo <= from) return 'role_assignments.window_empty';
    return { ...one, nodeId };
  });
}

/**
 * Inserts assignments with one statement, in the caller's transaction. The table's exclusion constraint decides races:
 * one that overlaps another is not inserted, and counts as `exists` where that one is the same.
 * @throws DomainError identity.not_found, role.not_found, nodes.node_not_found if one was deleted meanwhile
 */
export async function writeAssignments(
  tx: EntityManager,
  scope: EnvironmentScope,
  placed: readonly PlacedAssignment[],
  at: Date,
): Promise<AssignmentResult[]> {
  if (placed.length === 0) return [];
  const { accountId, environmentId } = scope;
  const rows: RoleAssignment[] = placed.map((one) => ({
    ...one,
    notifyHolder: one.notifyHolder ?? false,
    id: uuidv7(),
    accountId,
    environmentId,
    createdAt: at,
    removedAt: null,
  }));
  // In one order, so that two callers with the same ones do not wait for each other.
  const made = await insertNew(tx, RoleAssignment, rows.toSorted(inOrder)).catch((error: unknown) => {
    throw asNotFound(error);
  });
  const created = rows.filter(({ id }) => made.has(id));
  await recordEvents(
    tx,
    'role_assignment.created',
    created.map((row) => ({ ...scope, resourceId: row.id, metadata: assignmentMetadata(row) })),
  );
  await openWindows(tx, created, at);
  const others = rows.filter(({ id }) => !made.has(id));
  const there = await tx.findBy(RoleAssignment, {
    ...within(scope),
    identityId: In([...new Set(others.map(({ identityId }) => identityId))]),
    roleId: In([...new Set(others.map(({ roleId }) => roleId))]),
  });
  return rows.map((row): AssignmentResult => {
    if (made.has(row.id)) return { status: 'created', assignment: row };
    const held = there.filter((other) => other.removedAt === null && isAtSamePlace(row, other));
    const alike = held.find((other) => isOfSameTime(row, other));
    if (alike) return { status: 'exists', assignment: alike };
    return { status: 'failed', error: overlapping(held.filter((other) => overlaps(row, other))) };
  });
}

/** What an event says of an assignment: ids and times. */
export const assignmentMetadata = ({ identityId, roleId, nodeId, effectiveFrom, effectiveTo }: RoleAssignment) => ({
  identity_id: identityId,
  role_id: roleId,
  node_id: nodeId,
  effective_from: effectiveFrom,
  effective_to: effectiveTo,
});

const inOrder = (a: RoleAssignment, b: RoleAssignment): number => placeOf(a).localeCompare(placeOf(b));
const placeOf = ({ identityId, roleId, nodeId }: RoleAssignment) => `${identityId} ${roleId} ${nodeId}`;

const isAtSamePlace = (a: RoleAssignment, b: RoleAssignment) =>
  a.identityId === b.identityId && a.roleId === b.roleId && a.nodeId === b.nodeId;

type Window = Pick<RoleAssignment, 'effectiveFrom' | 'effectiveTo'>;

const isOfSameTime = (a: Window, b: Window) =>
  a.effectiveFrom?.getTime() === b.effectiveFrom?.getTime() && a.effectiveTo?.getTime() === b.effectiveTo?.getTime();

const overlaps = (a: Window, b: Window) => begins(a) < ends(b) && begins(b) < ends(a);
const begins = ({ effectiveFrom }: Window) => effectiveFrom?.getTime() ?? -Infinity;
const ends = ({ effectiveTo }: Window) => effectiveTo?.getTime() ?? Infinity;

/** Names the assignments in the way, as far as they still exist. */
function overlapping(held: readonly RoleAssignment[]): DomainError {
  const details = held.slice(0, maxNamed).map(({ id }) => ({
    field: '',
    code: 'overlapping',
    message: `overlaps the assignment ${id}`,
  }));
  return new DomainError('role_assignments.overlapping', details.length > 0 ? { details } : {});
}
