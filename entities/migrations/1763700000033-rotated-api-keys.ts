import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The old secret of a rotated key stays valid for a while, so that its users can switch to the new one. */
export class RotatedApiKeys1763700000033 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(`
alter table api_keys add previous_secret_hash bytea, add previous_secret_expires_at timestamptz,
  add constraint api_keys_previous_secret check ((previous_secret_hash is null) = (previous_secret_expires_at is null));
`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
