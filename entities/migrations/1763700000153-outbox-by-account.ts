import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * If more messages wait than fit a batch, Accounts take turns: one with ten thousand deliveries does not delay all
 * others.
 */
export class OutboxByAccount1763700000153 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    const nobody = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    await db.query(`alter table outbox add column if not exists account_id uuid not null default '${nobody}'`);
    const awaited = `(process = 'registrationVerification' or input ? 'isAwaited')`;
    await buildIndexes(db, {
      outbox_turns_awaited: `on outbox (account_id, due_at, id) where ${awaited}`,
      outbox_turns_others: `on outbox (account_id, due_at, id) where process <> 'webhookDelivery' and not ${awaited}`,
      outbox_turns_webhooks: `on outbox (account_id, due_at, id) where process = 'webhookDelivery'`,
    });
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
