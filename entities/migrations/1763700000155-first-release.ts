import type { MigrationInterface, QueryRunner } from 'typeorm';
import { schema } from './first-release/index.js';
import { emailChanges } from './first-release/registrations.js';
import { lastOfFormer } from './former.js';

/**
 * Creates the schema of the first release; of one that the former migrations have created, only what they have not:
 * `FromFormer` does the rest.
 */
export class FirstRelease1763700000155 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    const former: unknown[] = await db.query('select from migrations where name = $1', [lastOfFormer]);
    for (const part of former.length > 0 ? [emailChanges] : schema) await db.query(part);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
