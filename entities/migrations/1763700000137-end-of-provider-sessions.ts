import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When a session at an identity provider ends (SAML 2.0 Core §2.7.2, `SessionNotOnOrAfter`), and with it the sessions
 * that began with it here. Null: the provider does not say, or a release without this column wrote it; such sessions
 * last as long as any other.
 */
export class EndOfProviderSessions1763700000137 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    for (const table of ['sso_sessions', 'sessions']) {
      await db.query(`alter table ${table} add column not_on_or_after timestamptz`);
    }
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
