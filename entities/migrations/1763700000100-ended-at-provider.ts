import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Since when sessions at identity providers are over, as these have said: nothing begins by one any more. */
export class EndedAtProvider1763700000100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table sso_sessions add column ended_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
