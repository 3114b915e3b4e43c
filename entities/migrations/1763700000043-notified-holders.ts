import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether people get mails about the window of their role; existing assignments send none. */
export class NotifiedHolders1763700000043 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table role_assignments add column notify_holder boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
