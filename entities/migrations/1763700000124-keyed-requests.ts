import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * With which master key the hash of a request is made. Null of what a release before keeps, whose hash is a plain one: it is gone
 * after a day.
 */
export class KeyedRequests1763700000124 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table idempotent_requests add column request_key_id text');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
