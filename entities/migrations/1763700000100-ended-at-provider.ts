import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When identity providers reported the end of their sessions: from then on no session can begin with them. */
export class EndedAtProvider1763700000100 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table sso_sessions add column ended_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
