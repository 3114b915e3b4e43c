import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * Finds the assignments that a person holds without those that have ended: a role for half an hour, every hour, is nine
 * thousand of them in a year, and each decision read them all. Their end also finds those to delete, once it is as long
 * ago as events are kept.
 */
export class OverAssignments1763700000150 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      role_assignments_in_force: `on role_assignments
        (identity_id, environment_id, coalesce(least(removed_at, effective_to), 'infinity'))`,
      role_assignments_over: `on role_assignments (least(removed_at, effective_to))
        where least(removed_at, effective_to) is not null`,
    });
    await db.query('drop index concurrently if exists role_assignments_identity');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
