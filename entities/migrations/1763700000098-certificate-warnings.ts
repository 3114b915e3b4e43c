import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the administrators of a connection were last warned that the provider's certificates expire. */
export class CertificateWarnings1763700000098 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table sso_connections add column saml_certificate_warned_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
