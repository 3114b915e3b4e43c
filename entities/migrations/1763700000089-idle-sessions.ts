import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets an Environment end unused sessions (docs/decisions/0060). */
export class IdleSessions1763700000089 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table environment_settings add column session_idle_ttl_seconds integer');
    await db.query('alter table sessions add column used_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
