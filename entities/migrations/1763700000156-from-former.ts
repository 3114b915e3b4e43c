import type { MigrationInterface, QueryRunner } from 'typeorm';

const columns = {
  accounts: 'require_sso boolean not null default false',
  user_mfa_factors: 'signs_in boolean not null default false',
  users: 'email_changed_at timestamptz',
};

/** Tables by their foreign keys to other tables that nobody needs (docs/decisions/0112). */
const foreignKeys = {
  authorization_codes: ['account', 'environment'],
  consents: ['account'],
  emailed_codes: ['account', 'environment'],
  grants: ['account', 'environment'],
  identity_links: ['account'],
  nodes: ['application'],
  organization_members: ['account'],
  pending_sign_ins: ['account', 'environment'],
  recovery_codes: ['account'],
  role_assignments: ['account'],
  scim_assignments: ['account'],
  scim_group_members: ['account'],
  scim_users: ['account'],
  sessions: ['account', 'environment'],
  sso_requests: ['account', 'environment'],
  sso_sessions: ['account'],
  trusted_devices: ['account', 'environment'],
};

/** Indexes that only such keys used. */
const indexes = [
  'consents_account',
  'emailed_codes_account',
  'identity_links_account',
  'nodes_application',
  'organization_members_account',
  'pending_sign_ins_account',
  'pending_sign_ins_environment',
  'recovery_codes_account',
  'role_assignments_account',
  'scim_assignments_account',
  'scim_group_members_account',
  'scim_users_account',
  'sso_requests_account',
  'sso_sessions_account',
  'trusted_devices_account',
];

/**
 * Changes what the former migrations created to what the first release has (docs/decisions/0106). Finds nothing to do in
 * a database that began with the first release.
 */
export class FromFormer1763700000156 implements MigrationInterface {
  transaction = false; // locks on so many tables at once would block everybody

  async up(db: QueryRunner): Promise<void> {
    for (const [table, column] of Object.entries(columns)) {
      await db.query(`alter table ${table} add column if not exists ${column}`);
    }
    for (const [table, parents] of Object.entries(foreignKeys)) {
      const drops = parents.map((parent) => `drop constraint if exists ${table}_${parent}_fk`);
      await db.query(`alter table ${table} ${drops.join(', ')}`);
    }
    for (const index of indexes) await db.query(`drop index concurrently if exists ${index}`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
