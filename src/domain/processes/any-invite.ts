import type { AdministratorInvite } from '../../../entities/administrator-invite.js';
import type { RowCountList } from '../../../entities/row-count.js';
import { type ProcessInput, workflowIdOf } from '../../platform/process-kinds.js';
import { notAcceptedInTime, reminderOf } from '../invites/times.js';
import type { Kind, KindName, ProcessRow, ProcessSummary } from './kind.js';

type Invite = Pick<AdministratorInvite, 'id' | 'createdAt' | 'expiresAt'> & { status: string };

/** What the processes show of an invite that was read already, with its status as of now. */
export const processOfInvite = (kind: KindName, { id, status, createdAt, expiresAt }: Invite): ProcessSummary => ({
  id,
  kind,
  state: status,
  since: createdAt,
  deadline: expiresAt,
  nextAt: null,
});

interface Invites {
  table: string;
  counted: readonly RowCountList[];
  kind: KindName;
  subjectType: string;
  /** SQL: the Environment to which they lead. */
  environmentId: string;
  /** The input of an invite's process. */
  inputOf(row: ProcessRow, now: Date): ProcessInput<'inviteExpiry'>;
}

/**
 * What all kinds of invites share as processes: they wait to be accepted, and are over in time whether or not a worker
 * has noticed.
 */
export const invitesOf = ({ table, counted, kind, subjectType, environmentId, inputOf }: Invites) =>
  ({
    table,
    counted,
    sql: `
select id, '${kind}' as kind, account_id as "accountId", ${environmentId} as "environmentId", '${subjectType}' as "subjectType",
  id as "subjectId", case when status = 'pending' and expires_at <= $2 then 'expired' else status end as state,
  created_at as since, expires_at as deadline, created_at as "createdAt",
  case when status = 'pending' and expires_at <= $2 then expires_at else ended_at end as "endedAt",
  case when status = 'pending' and expires_at <= $2 then '${notAcceptedInTime}' else ended_reason end as "endedReason", null::timestamptz as "nextAt",
  status as stored
from ${table} where account_id = $1`,
    open: { pending: 'acceptance' },
    ended: ['accepted', 'expired', 'revoked'],
    workflowId: (row) => workflowIdOf('inviteExpiry', inputOf(row, row.since)),
    wakesUpAt: ({ deadline }, now) => reminderOf(deadline!, now) ?? deadline,
  }) satisfies Omit<Kind, 'verbs' | 'cancel'>;
