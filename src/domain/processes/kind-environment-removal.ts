import { dbWithin } from '../../platform/database/db-within.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { createEnvironmentRemovals } from '../environment-removals/removals.js';
import { environmentRemovalInput } from '../environments/removal-process.js';
import type { Kind, ProcessRow } from './kind.js';

const inputOf = ({ id, accountId, subjectId }: ProcessRow) =>
  environmentRemovalInput({ id, accountId, environmentId: subjectId });

/** Deletions of Environments. Their subject is the Environment: they are in none, since that one is gone. */
export const environmentRemovalKind: Kind = {
  table: 'environment_removals',
  counted: ['environment_removals'],
  sql: `
select id, 'environment_removal' as kind, account_id as "accountId", null::uuid as "environmentId",
  'environment' as "subjectType", environment_id as "subjectId", status as state, created_at as since,
  null::timestamptz as deadline, created_at as "createdAt", ended_at as "endedAt", ended_reason as "endedReason", null::timestamptz as "nextAt",
  status as stored
from environment_removals where account_id = $1`,
  open: { running: 'its_next_step' },
  ended: ['completed', 'cancelled'],
  verbs: { cancel: ['running'], retry: ['cancelled'] },
  workflowId: (row) => workflowIdOf('environmentRemoval', inputOf(row)),
  wakesUpAt: () => null,
  cancel: (tx, { id }, now) => createEnvironmentRemovals({ db: dbWithin(tx), now }).cancel(id, 'cancelled_by_operator'),
  retry: (tx, { accountId, id }, now) => createEnvironmentRemovals({ db: dbWithin(tx), now }).resume({ accountId }, id),
};
