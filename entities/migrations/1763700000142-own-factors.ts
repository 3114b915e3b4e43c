import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tells what somebody has shown themselves from what an identity provider said of them: factors guard all Environments of the Account,
 * and a provider speaks in one. Sessions of before have none, and ask for one where they came by a provider.
 */
export class OwnFactors1763700000142 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table sessions add own_factor_at timestamptz');
    await db.query('alter table pending_sign_ins add own_factor_at timestamptz');
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('alter table pending_sign_ins drop own_factor_at');
    await db.query('alter table sessions drop own_factor_at');
  }
}
