import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The URL at which an application itself starts a sign-in (OpenID Connect Core 1.0 §4; docs/decisions/0098). */
export class InitiateLoginUri1763700000145 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query('alter table oauth_clients add initiate_login_uri text');
  }

  async down(db: QueryRunner): Promise<void> {
    await db.query('alter table oauth_clients drop initiate_login_uri');
  }
}
