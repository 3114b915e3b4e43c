import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Mails and deliveries are most of an Account's processes, and nearly all have ended as they should (docs/decisions/0085). */
const indexes = {
  emails_not_sent: `on emails (account_id, created_at, id) include (environment_id) where status <> 'sent' and account_id is not null`,
  webhook_deliveries_not_taken: `on webhook_deliveries (account_id, created_at, id) include (environment_id) where status <> 'succeeded'`,
};

/** Made while the service goes on writing; one of an attempt that was interrupted is made anew. */
export class FewOfManyProcesses1763700000105 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    for (const [name, definition] of Object.entries(indexes)) {
      await db.query(`drop index concurrently if exists ${name}`);
      await db.query(`create index concurrently ${name} ${definition}`);
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
