import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets an Environment require PKCE of all its clients (RFC 9700 §2.1.1). */
export class RequirePkce1763700000095 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table environment_settings add column require_pkce boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
