import { RoleAssignmentWindow } from '../../../entities/role-assignment-window.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { momentsOf } from '../access/windows/moments.js';
import { roleWindowInput } from '../access/windows/rows.js';
import { createRoleWindows } from '../access/windows/windows.js';
import { startLater } from '../outbox.js';
import type { Kind, ProcessRow } from './kind.js';

const inputOf = ({ id, accountId, environmentId, subjectId }: ProcessRow) =>
  roleWindowInput({ id, accountId, environmentId: environmentId!, identityId: subjectId });

/** Windows of role assignments, whose events are recorded when they happen. Their id is that of the assignment. */
export const roleWindowKind = (notices: readonly number[]): Kind => ({
  table: 'role_assignment_windows',
  counted: ['role_assignment_windows'],
  sql: `
select w.id, 'role_assignment' as kind, w.account_id as "accountId", w.environment_id as "environmentId", 'identity' as "subjectType",
  a.identity_id as "subjectId", w.status as state, w.told_until as since, coalesce(a.effective_to, a.effective_from) as deadline,
  w.created_at as "createdAt", w.ended_at as "endedAt", w.ended_reason as "endedReason",
  case when a.effective_from > w.told_until then a.effective_from end as "nextAt", w.status as stored
from role_assignment_windows w join role_assignments a on a.id = w.id where w.account_id = $1`,
  open: { running: 'its_next_moment' },
  ended: ['completed', 'removed', 'cancelled'],
  verbs: { cancel: ['running'], retry: ['cancelled'] },
  workflowId: (row) => workflowIdOf('roleAssignmentWindow', inputOf(row)),
  wakesUpAt: ({ nextAt: beginning, since: toldUntil, deadline }) =>
    beginning ??
    momentsOf({ effectiveFrom: null, effectiveTo: deadline, createdAt: toldUntil }, notices)[0]?.at ??
    null,
  async cancel(tx, row, now) {
    await createRoleWindows({ db: dbWithin(tx), now, notices }).cancel(row.id, 'cancelled_by_operator');
    await startLater(tx, 'roleAssignmentWindow', { ...inputOf(row), news: 'changed' }); // it finds the row ended, and ends
  },
  /** Events that are still to come are recorded again; those that came meanwhile are not. */
  async retry(tx, row, now) {
    const again = { status: 'running', endedReason: null, endedAt: null, toldUntil: now() } as const;
    await tx.update(RoleAssignmentWindow, { id: row.id, status: 'cancelled' }, again);
    await startLater(tx, 'roleAssignmentWindow', { ...inputOf(row), news: 'resumed' });
  },
});
