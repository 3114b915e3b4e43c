import type { MigrationInterface, QueryRunner } from 'typeorm';

const columns = {
  accounts: 'require_sso boolean not null default false',
  mfa_graces: 'created_at timestamptz not null default now()',
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

/** Indexes that only such keys used, and one of graces by another column. */
const indexes = [
  'consents_account',
  'emailed_codes_account',
  'identity_links_account',
  'mfa_graces_by_age',
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
    await this.dateGraces(db);
    for (const index of indexes) await db.query(`drop index concurrently if exists ${index}`);
  }

  /** Grace periods are listed by when the first one began; those that are there have the time of the statement above. */
  private async dateGraces(db: QueryRunner): Promise<void> {
    for (let changed = 1; changed > 0; ) {
      const [, count]: [unknown, number] = await db.query(
        `update mfa_graces set created_at = started_at
         where id in (select id from mfa_graces where created_at > started_at limit 5000)`,
      );
      changed = count;
    }
    await db.query('drop index concurrently if exists mfa_graces_by_creation'); // left by an interrupted attempt
    await db.query('create index concurrently mfa_graces_by_creation on mfa_graces (account_id, created_at, id)');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
