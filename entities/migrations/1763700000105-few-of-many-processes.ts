import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

const indexes = {
  emails_not_sent: `on emails (account_id, created_at, id) include (environment_id) where status <> 'sent' and account_id is not null`,
  webhook_deliveries_not_taken: `on webhook_deliveries (account_id, created_at, id) include (environment_id) where status <> 'succeeded'`,
};

/**
 * Mails and deliveries are most of an Account's processes; nearly all ended successfully, so these index the others
 * (docs/decisions/0085).
 */
export class FewOfManyProcesses1763700000105 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, indexes);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
