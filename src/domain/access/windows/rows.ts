import type { EntityManager } from 'typeorm';
import type { RoleAssignment } from '../../../../entities/role-assignment.js';
import { RoleAssignmentWindow } from '../../../../entities/role-assignment-window.js';
import type { ProcessInput } from '../../../platform/process-kinds.js';
import { startAllLater } from '../../outbox.js';
import { hasBoundAhead } from './moments.js';

type Of = Pick<RoleAssignment, 'id' | 'accountId' | 'environmentId' | 'identityId'>;

/** Returns the input of a window's process. */
export const roleWindowInput = (
  { id, accountId, environmentId, identityId }: Of,
  news?: ProcessInput<'roleAssignmentWindow'>['news'],
): ProcessInput<'roleAssignmentWindow'> => ({
  assignmentId: id,
  accountId,
  environmentId,
  identityId,
  ...(news && { news }),
});

/**
 * Starts the processes that record what happens in the windows of new assignments, if they have a bound ahead; in the
 * transaction that creates the assignments.
 */
export async function openWindows(tx: EntityManager, assignments: readonly RoleAssignment[], at: Date): Promise<void> {
  const bounded = assignments.filter((assignment) => hasBoundAhead(assignment, at));
  if (bounded.length === 0) return;
  const rows = bounded.map(
    ({ id, accountId, environmentId }): RoleAssignmentWindow => ({
      id,
      accountId,
      environmentId,
      status: 'running',
      endedReason: null,
      toldUntil: at,
      createdAt: at,
      endedAt: null,
    }),
  );
  await tx.insert(RoleAssignmentWindow, rows);
  await startAllLater(
    tx,
    'roleAssignmentWindow',
    bounded.map((one) => roleWindowInput(one)),
  );
}

const columns = 'w.id, w.account_id as "accountId", w.environment_id as "environmentId", a.identity_id as "identityId"';

/** Ends the windows of removed assignments: they cause no more events. In the transaction of the removal. */
export async function closeWindows(tx: EntityManager, ids: readonly string[], at: Date): Promise<void> {
  const [rows] = await tx.query<[Of[], number]>(
    `update role_assignment_windows w set status = 'removed', ended_reason = 'assignment_removed', ended_at = $2
     from role_assignments a where a.id = w.id and w.id = any($1) and w.status = 'running' returning ${columns}`,
    [ids, at],
  );
  await notifyProcesses(tx, rows);
}

/**
 * Wakes the processes of the windows at nodes that are about to be deleted with their assignments; they then find
 * nothing and end.
 */
export const leaveNodes = (tx: EntityManager, nodeIds: readonly string[]): Promise<void> =>
  notifyProcessesWhere(tx, 'a.node_id = any($1)', [nodeIds]);

/** Wakes the processes of the windows of an Identity that is about to be deleted, as `leaveNodes` does. */
export const leaveIdentity = (tx: EntityManager, identityId: string): Promise<void> =>
  notifyProcessesWhere(tx, 'a.identity_id = $1', [identityId]);

/**
 * Wakes the processes of the windows of people who are about to be deleted with their Environment, as `leaveNodes`
 * does.
 */
export const leaveEnvironment = (tx: EntityManager, environmentId: string, identityIds: readonly string[]) =>
  notifyProcessesWhere(tx, 'a.environment_id = $1 and a.identity_id = any($2)', [environmentId, identityIds]);

const notifyProcessesWhere = async (tx: EntityManager, which: string, values: unknown[]) =>
  notifyProcesses(
    tx,
    await tx.query<Of[]>(
      `select ${columns} from role_assignment_windows w join role_assignments a on a.id = w.id
       where w.status = 'running' and ${which}`,
      values,
    ),
  );

const notifyProcesses = (tx: EntityManager, rows: readonly Of[]) =>
  startAllLater(
    tx,
    'roleAssignmentWindow',
    rows.map((row) => roleWindowInput(row, 'changed')),
  );
