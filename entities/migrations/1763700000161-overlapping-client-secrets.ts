import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The secret of a client may keep working for a while after its rotation, as that of an API key may. */
export class OverlappingClientSecrets1763700000161 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table oauth_clients add column previous_secret_hash bytea, add column previous_secret_expires_at timestamptz,
  add constraint oauth_clients_previous_secret
    check ((previous_secret_hash is null) = (previous_secret_expires_at is null)) not valid`);
    await db.query('alter table oauth_clients validate constraint oauth_clients_previous_secret'); // there are few
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
