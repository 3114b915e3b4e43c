import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A retry is also recognized by its meaning; the previous release still recognizes it by its bytes. */
export class CanonicalRequests1763700000154 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table idempotent_requests add column canonical_hash bytea');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
