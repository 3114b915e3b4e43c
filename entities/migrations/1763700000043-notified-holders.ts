import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether somebody hears by mail of what happens in the window of their role; nobody does so far. */
export class NotifiedHolders1763700000043 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table role_assignments add column notify_holder boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
