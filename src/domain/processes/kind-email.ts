import { Email } from '../../../entities/email.js';
import { isAwaited } from '../../platform/mail/awaited.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { startLater } from '../outbox.js';
import type { Kind, ProcessRow } from './kind.js';

const inputOf = ({ id, subjectId, accountId, environmentId }: ProcessRow) => ({
  emailId: id,
  subjectId,
  accountId,
  environmentId,
});

/**
 * Mails of the Account. Mails about a person alone (a registration, a password) belong to no Account, and are not
 * included.
 */
export const emailKind: Kind = {
  table: 'emails',
  counted: ['emails'],
  sql: `
select id, 'email' as kind, account_id as "accountId", environment_id as "environmentId",
  case when template like 'administrator-invite%' then 'administrator_invite' when template like 'identity-invite%' then 'identity_invite'
       when template like 'mfa-grace-%' then 'mfa_grace' else 'other' end as "subjectType",
  subject_id as "subjectId", status as state, created_at as since, null::timestamptz as deadline,
  created_at as "createdAt", ended_at as "endedAt", failure as "endedReason", null::timestamptz as "nextAt",
  status as stored
from emails where account_id = $1`,
  open: { pending: 'mail_server' },
  ended: ['sent', 'failed', 'cancelled'],
  usualEnd: 'sent',
  verbs: { cancel: ['pending'], retry: ['failed'] },
  workflowId: (row) => workflowIdOf('emailDelivery', inputOf(row)),
  wakesUpAt: () => null, // the pauses between two tries are Temporal's
  cancel: (tx, { id }, now) =>
    // The same as `emails.cancel`, which belongs to the worker: the api has no mail server. The next try finds the row
    // ended.
    tx.update(
      Email,
      { id, status: 'pending' },
      { status: 'cancelled', failure: 'cancelled by an operator', endedAt: now() },
    ),
  async retry(tx, row) {
    await tx.update(Email, { id: row.id, status: 'failed' }, { status: 'pending', failure: null, endedAt: null });
    const { template } = await tx.findOneOrFail(Email, { where: { id: row.id }, select: { id: true, template: true } });
    // As news: the run that has just failed it may not have ended yet.
    await startLater(tx, 'emailDelivery', {
      ...inputOf(row),
      ...(isAwaited(template) && { isAwaited: true }),
      news: 'retried',
    });
  },
};
