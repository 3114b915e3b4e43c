import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a client was given for one organization. No foreign key: what outlives its organization is refused, as what outlives a
 * membership is, and deleting one writes no grants.
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
