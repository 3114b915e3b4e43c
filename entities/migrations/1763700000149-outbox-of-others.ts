import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * An index of the messages that nobody waits for: each poll had to skip all awaited ones, once many of them were due.
 */
export class OutboxOfOthers1763700000149 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      outbox_due_others: `on outbox (due_at, id)
        where process <> 'webhookDelivery' and not (process = 'registrationVerification' or input ? 'isAwaited')`,
    });
    await db.query('drop index concurrently if exists outbox_due');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
