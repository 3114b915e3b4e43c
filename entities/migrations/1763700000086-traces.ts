import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The trace of a change goes with its messages and events, so that what they cause belongs to it (docs/decisions/0054). */
export class Traces1763700000086 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table outbox add column traceparent text');
    await db.query('alter table events add column traceparent text');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
