import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { OutboxMessage } from '../../entities/outbox-message.js';
import type { ProcessInput, ProcessName } from '../platform/processes.js';

/** The channel on which the relay is woken. */
export const outboxChannel = 'gatehouse_outbox';

/**
 * Asks for a workflow in the transaction of the change that needs it. The relay starts it after the commit, so with
 * Temporal down the change is accepted all the same, and a rollback starts nothing.
 * @param input ids and times only: the workflow's history is readable in the Temporal UI.
 */
export async function startLater<P extends ProcessName>(
  tx: EntityManager,
  process: P,
  input: ProcessInput<P>,
): Promise<void> {
  const now = new Date();
  await tx.insert(OutboxMessage, {
    id: uuidv7(),
    process,
    input,
    createdAt: now,
    dueAt: now,
    attempts: 0,
    lastError: null,
  });
  await tx.query(`select pg_notify($1, '')`, [outboxChannel]);
}
