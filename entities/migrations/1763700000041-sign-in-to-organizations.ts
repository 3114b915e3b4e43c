import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The organization of a client's codes and grants. No foreign key: those that outlive their organization are refused,
 * like those that outlive a membership, and deleting an organization writes no grants.
 */
export class SignInToOrganizations1763700000041 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table authorization_codes add organization_id uuid;
alter table grants add organization_id uuid;
create index nodes_organizations_by_slug on nodes (environment_id, slug) where node_type = 'organization';
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
