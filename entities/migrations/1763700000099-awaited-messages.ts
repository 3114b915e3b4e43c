import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Messages that somebody waits for at a page are relayed to Temporal by a separate lane (docs/decisions/0078). */
export class AwaitedMessages1763700000099 implements MigrationInterface {
  transaction = false; // the index is built while the service goes on writing

  async up(db: QueryRunner): Promise<void> {
    await db.query('drop index concurrently if exists outbox_due_awaited'); // left by an interrupted attempt
    await db.query(`create index concurrently outbox_due_awaited on outbox (due_at, id)
      where process = 'registrationVerification' or input ? 'isAwaited'`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
