import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When an Account was closed; its row stays until nothing else of it is left. */
export class ClosedAccounts1763700000135 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table accounts add column closed_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
