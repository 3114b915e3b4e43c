import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a client may be given; all that there is, for those that are there already (docs/decisions/0063). */
export class ScopesOfClients1763700000091 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      `alter table oauth_clients add column scopes text[] not null default '{openid,profile,email,org,permissions}'`,
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
