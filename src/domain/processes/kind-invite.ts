import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { joining } from '../../platform/joining.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { createAdministratorInviteExpiry } from '../invites/expiry.js';
import { processInput } from '../invites/process.js';
import { startLater } from '../outbox.js';
import type { Kind, ProcessRow } from './kinds.js';

const inputOf = ({ id, accountId, deadline }: ProcessRow, now: Date) =>
  processInput({ id, accountId, expiresAt: deadline! }, now);

/** Of an invite that was read already, with its status as of now. */
export const inviteRow = ({ id, accountId, status, ...invite }: AdministratorInvite): ProcessRow => ({
  id,
  kind: 'invite',
  accountId,
  environmentId: null,
  subjectType: 'administrator_invite',
  subjectId: id,
  state: status,
  since: invite.createdAt,
  deadline: invite.expiresAt,
  createdAt: invite.createdAt,
  endedAt: invite.endedAt,
  endedReason: invite.endedReason,
  nextAt: null,
});

/** Invites of administrators. */
export const inviteKind: Kind = {
  table: 'administrator_invites',
  sql: `
select id, 'invite' as kind, account_id as "accountId", null::uuid as "environmentId", 'administrator_invite' as "subjectType",
  id as "subjectId", case when status = 'pending' and expires_at <= $2 then 'expired' else status end as state,
  created_at as since, expires_at as deadline, created_at as "createdAt",
  case when status = 'pending' and expires_at <= $2 then expires_at else ended_at end as "endedAt",
  case when status = 'pending' and expires_at <= $2 then 'not_accepted_in_time' else ended_reason end as "endedReason", null::timestamptz as "nextAt"
from administrator_invites where account_id = $1`,
  open: { pending: 'acceptance' },
  verbs: { cancel: ['pending'], resend: ['pending', 'expired'], extend: ['pending'] },
  workflowId: (row) => workflowIdOf('inviteExpiry', inputOf(row, row.since)),
  wakesUpAt(row, now) {
    const { reminderAt } = inputOf(row, now);
    return reminderAt ? new Date(reminderAt) : row.deadline;
  },
  async cancel(tx, row, now) {
    await createAdministratorInviteExpiry({ db: joining(tx), now }).cancel(row.id, 'cancelled_by_operator');
    // Its workflow would sleep on for days where a cancel does not reach Temporal.
    const { expiresAt } = await tx.findOneByOrFail(AdministratorInvite, { accountId: row.accountId, id: row.id });
    await startLater(tx, 'inviteExpiry', { ...inputOf({ ...row, deadline: expiresAt }, now()), news: 'revoked' });
  },
};
