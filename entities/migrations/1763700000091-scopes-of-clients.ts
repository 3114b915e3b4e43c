import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The scopes that a client may get; existing clients may get all (docs/decisions/0063). */
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
