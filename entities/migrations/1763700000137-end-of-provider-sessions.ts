import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Until when an identity provider has its people's sessions last (SAML 2.0 Core §2.7.2, `SessionNotOnOrAfter`), and so what began by
 * them here. Null: it says nothing of it, nor do releases without it, whose sessions last as long as any.
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
