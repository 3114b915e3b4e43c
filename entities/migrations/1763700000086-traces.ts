import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The trace of a change is stored with its messages and events, so that their effects belong to it
 * (docs/decisions/0054).
 */
export class Traces1763700000086 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table outbox add column traceparent text');
    await db.query('alter table events add column traceparent text');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
