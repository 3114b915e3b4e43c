import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A SAML provider may want responses to its logout requests elsewhere than requests (SAML 2.0 Metadata §2.2.2). */
export class WhereLogoutResponsesGo1763700000162 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table sso_connections add column if not exists saml_slo_response_url text');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
