import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/** Invitations into an organization whose time is over and that nobody has ended yet: what lists take off its count, a few at most. */
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
