import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/** Finds expired invites to an organization that are not ended yet, few at most: lists subtract them from its count. */
export class OverdueInvitations1763700000123 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      identity_invites_overdue: `on identity_invites (organization_id, expires_at) where status = 'pending'`,
    });
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
