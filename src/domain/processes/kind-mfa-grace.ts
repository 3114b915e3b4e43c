import { MfaGrace } from '../../../entities/mfa-grace.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { createMfaGraces } from '../mfa/grace/grace.js';
import { nextMoment } from '../mfa/grace/reminders.js';
import { mfaGraceInput } from '../mfa/grace/rules.js';
import { startLater } from '../outbox.js';
import type { Kind, ProcessRow } from './kind.js';

const inputOf = ({ id, accountId, environmentId, subjectId }: ProcessRow) =>
  mfaGraceInput({ id, accountId, environmentId: environmentId!, identityId: subjectId });

/** Periods in which Identities may still sign in without a second factor. */
export const mfaGraceKind = (reminders: readonly number[]): Kind => ({
  table: 'mfa_graces',
  counted: ['mfa_graces'],
  sql: `
select id, 'mfa_grace' as kind, account_id as "accountId", environment_id as "environmentId", 'identity' as "subjectType",
  identity_id as "subjectId", case when is_over then 'expired' else status end as state, started_at as since,
  expires_at as deadline, created_at as "createdAt", case when is_over then expires_at else ended_at end as "endedAt",
  case when is_over then 'not_enrolled_in_time' else ended_reason end as "endedReason", null::timestamptz as "nextAt",
  status as stored
from (select *, status in ('running', 'cancelled') and expires_at <= $2 as is_over from mfa_graces where account_id = $1) grace`,
  open: { running: 'factor_enrollment' },
  ended: ['enrolled', 'expired', 'reset', 'cancelled'],
  verbs: { cancel: ['running'], retry: ['cancelled'] },
  workflowId: (row) => workflowIdOf('mfaGrace', inputOf(row)),
  wakesUpAt: ({ since, deadline }, now) => nextMoment({ startedAt: since, expiresAt: deadline! }, reminders, now),
  async cancel(tx, row, now) {
    await createMfaGraces({ db: dbWithin(tx), now, reminders }).cancel(row.id, 'cancelled_by_operator');
    await startLater(tx, 'mfaGrace', { ...inputOf(row), news: 'policyChanged' }); // it finds the row ended, and ends
  },
  /** Reminders that are still to come are sent again. */
  async retry(tx, row) {
    const again = { status: 'running', endedReason: null, endedAt: null } as const;
    await tx.update(MfaGrace, { id: row.id, status: 'cancelled' }, again);
    // The workflow reads the row, whatever the signal's name; this one also starts a run if the last one has ended.
    await startLater(tx, 'mfaGrace', { ...inputOf(row), news: 'reset' });
  },
});
