import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/** A decision finds what somebody holds at the node and above it. By the person alone it read what they hold anywhere: ten thousand rows for each check. */
export class AssignmentsByNode1763700000146 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      role_assignments_identity_nodes: 'on role_assignments (identity_id, environment_id, node_id)',
    });
    await db.query('drop index concurrently if exists role_assignments_identity'); // the same, but for the node
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
