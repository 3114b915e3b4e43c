import type { EntityManager } from 'typeorm';
import { noAccount } from '../../entities/outbox-message.js';
import type { ProcessInput, ProcessName } from '../platform/process-kinds.js';
import { traceparent } from '../platform/tracing/tracing.js';

/** For the relay, which needs nothing else of the tables. */
export { outboxLanes } from '../../entities/outbox-message.js';

/** The channel of the notifications that wake the relay. */
export const outboxChannel = 'gatehouse_outbox';

// PostgreSQL notifies the relay at the commit, once for all equal notifications of a transaction.
const insertText = `
insert into outbox (id, process, input, account_id, created_at, due_at, attempts, traceparent)
select gen_random_uuid(), $1, input, coalesce((input ->> 'accountId')::uuid, '${noAccount}'), clock_timestamp(), clock_timestamp(), 0, $3::text
from jsonb_array_elements($2::jsonb) as input
returning pg_notify($4, '')`;

/**
 * Requests a workflow in the transaction of the change that needs it. The relay starts it after the commit: so the
 * change is accepted even if Temporal is down, and a rollback starts nothing.
 * @param input ids and times only: the workflow's history is readable in the Temporal UI
 */
export async function startLater<P extends ProcessName>(
  tx: EntityManager,
  process: P,
  input: ProcessInput<P>,
): Promise<void> {
  await startAllLater(tx, process, [input]);
}

/**
 * Requests many workflows in one statement, as for a change that concerns everybody in an Environment. The times are
 * PostgreSQL's, as in the relay's query for due messages: with the time of an api whose clock is ahead, a message would
 * wait for the difference.
 */
export async function startAllLater<P extends ProcessName>(
  tx: EntityManager,
  process: P,
  inputs: readonly ProcessInput<P>[],
): Promise<void> {
  if (inputs.length === 0) return;
  await tx.query(insertText, [process, JSON.stringify(inputs), traceparent(), outboxChannel]);
}
