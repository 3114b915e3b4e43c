import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Distinguishes factors that people proved themselves from what an identity provider said: factors protect all
 * Environments of the Account, a provider speaks only for one. Existing sessions have none, and ask for one if they
 * began at a provider.
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
