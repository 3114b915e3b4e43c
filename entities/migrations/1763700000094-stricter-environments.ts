import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Settings for stricter Environments: TOTP codes, the end of sessions, single sign-on (docs/asvs.md). */
export class StricterEnvironments1763700000094 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table environment_settings
  add column totp_drift_steps integer not null default 1
    constraint environment_settings_totp_drift check (totp_drift_steps in (0, 1)),
  add column session_end_require_recent_sign_in boolean not null default false,
  add column sso_require_confirmation boolean not null default false
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
