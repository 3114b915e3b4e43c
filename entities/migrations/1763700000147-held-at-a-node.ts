import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * Finds the assignments at a node, or of a role, that were not removed. The constraint `role_assignments_overlapping`
 * has both columns after the person's. The planner, for which the order of a GiST index's columns does not matter,
 * would use it and read the whole index. It considers only hash indexes cheaper; a B-tree is a hundredth more expensive
 * to it.
 */
export class HeldAtANode1763700000147 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await buildIndexes(db, {
      role_assignments_held_at_node: 'on role_assignments using hash (node_id) where removed_at is null',
      role_assignments_held_of_role: 'on role_assignments using hash (role_id) where removed_at is null',
    });
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
