import type { MigrationInterface, QueryRunner } from 'typeorm';
import { schema } from './first-release/index.js';
import { lastOfFormer } from './former.js';

/** Creates the schema of the first release; a database whose former migrations created it before has it already. */
export class FirstRelease1763700000155 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    const former: unknown[] = await db.query('select from migrations where name = $1', [lastOfFormer]);
    if (former.length > 0) return;
    for (const part of schema) await db.query(part);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
