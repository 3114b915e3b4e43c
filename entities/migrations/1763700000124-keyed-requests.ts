import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The master key with which the hash of a request was made. Null for rows of a previous release, whose hash is a plain
 * one: they are deleted after a day.
 */
export class KeyedRequests1763700000124 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table idempotent_requests add column request_key_id text');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
