import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which browser delivered an identity provider's answer (docs/decisions/0038). Null if a release without this column
 * accepted the answer: the cookie alone then decides, as before.
 */
export class DeliverersOfAnswers1763700000139 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table sso_requests add column deliverer_hash bytea');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
