import { IdentityInvite } from '../../../entities/identity-invite.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { keepOrganizationOf } from '../identity-invites/expiry.js';
import { withdraw } from '../identity-invites/issue.js';
import { processInput } from '../identity-invites/process.js';
import type { Kind, ProcessRow } from './kinds.js';

const inputOf = ({ id, accountId, environmentId, deadline }: ProcessRow, now: Date) =>
  processInput({ id, accountId, environmentId: environmentId!, expiresAt: deadline! }, now);

/** Of an invite that was read already, with its status as of now. */
export const identityInviteRow = ({ id, accountId, environmentId, status, ...invite }: IdentityInvite): ProcessRow => ({
  id,
  kind: 'identity_invite',
  accountId,
  environmentId,
  subjectType: 'identity_invite',
  subjectId: id,
  state: status,
  since: invite.createdAt,
  deadline: invite.expiresAt,
  createdAt: invite.createdAt,
  endedAt: invite.endedAt,
  endedReason: invite.endedReason,
  nextAt: null,
});

/** Invites of end users, those into organizations among them. Whoever sent one resends it where it was made. */
export const identityInviteKind: Kind = {
  table: 'identity_invites',
  sql: `
select id, 'identity_invite' as kind, account_id as "accountId", environment_id as "environmentId",
  'identity_invite' as "subjectType", id as "subjectId",
  case when status = 'pending' and expires_at <= $2 then 'expired' else status end as state,
  created_at as since, expires_at as deadline, created_at as "createdAt",
  case when status = 'pending' and expires_at <= $2 then expires_at else ended_at end as "endedAt",
  case when status = 'pending' and expires_at <= $2 then 'not_accepted_in_time' else ended_reason end as "endedReason", null::timestamptz as "nextAt"
from identity_invites where account_id = $1`,
  open: { pending: 'acceptance' },
  verbs: { cancel: ['pending'] },
  workflowId: (row) => workflowIdOf('inviteExpiry', inputOf(row, row.since)),
  wakesUpAt(row, now) {
    const { reminderAt } = inputOf(row, now);
    return reminderAt ? new Date(reminderAt) : row.deadline;
  },
  lockFirst: keepOrganizationOf,
  async cancel(tx, { id, accountId }, now) {
    const invite = await tx.findOneByOrFail(IdentityInvite, { accountId, id });
    await withdraw(tx, invite, { reason: 'cancelled_by_operator', now: now() });
  },
};
