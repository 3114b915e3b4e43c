import { dbWithin } from '../../platform/database/db-within.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { createErasures, erasureInput } from '../erasures/erasures.js';
import { assertNotBack } from '../erasures/staying.js';
import type { Kind, ProcessRow } from './kind.js';

const inputOf = ({ id, accountId, subjectId }: ProcessRow) => erasureInput({ id, accountId, identityId: subjectId });

/** Deletions of identities. */
export const erasureKind: Kind = {
  table: 'erasures',
  counted: ['erasures'],
  sql: `
select id, 'identity_erasure' as kind, account_id as "accountId", null::uuid as "environmentId", 'identity' as "subjectType",
  identity_id as "subjectId", status as state, created_at as since, null::timestamptz as deadline,
  created_at as "createdAt", ended_at as "endedAt", ended_reason as "endedReason", null::timestamptz as "nextAt",
  status as stored
from erasures where account_id = $1`,
  open: { running: 'its_next_step' },
  ended: ['completed', 'cancelled'],
  verbs: { cancel: ['running'], retry: ['cancelled'] },
  workflowId: (row) => workflowIdOf('identityErasure', inputOf(row)),
  wakesUpAt: () => null,
  cancel: (tx, { id }, now) => createErasures({ db: dbWithin(tx), now }).cancel(id, 'cancelled_by_operator'),
  async retry(tx, { accountId, subjectId, endedAt }, now) {
    await assertNotBack(tx, { accountId, id: subjectId }, endedAt!);
    return createErasures({ db: dbWithin(tx), now }).request({ accountId }, subjectId);
  },
};
