import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * What is held at a node, or of a role, and not taken away. The constraint `role_assignments_overlapping` has both columns behind the person's, and the
 * planner, which knows of no order among the columns of a GiST index, takes it: all of it is read then, everybody's. Only hashes cost it less in
 * the planner's eyes than that; a tree is a hundredth dearer.
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
