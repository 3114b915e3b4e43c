import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What somebody waits for before a page is carried to Temporal by a lane of its own (docs/decisions/0078). */
export class AwaitedMessages1763700000099 implements MigrationInterface {
  transaction = false; // made while the service goes on writing

  async up(db: QueryRunner): Promise<void> {
    await db.query('drop index concurrently if exists outbox_due_awaited'); // of an attempt that was interrupted
    await db.query(`create index concurrently outbox_due_awaited on outbox (due_at, id)
      where process = 'registrationVerification' or input ? 'isAwaited'`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
