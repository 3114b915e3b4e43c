import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The settings of public clients say that their refresh tokens are rotated, as they always were (RFC 9700 §2.2.2):
 * another value is refused now, also when something else of the client changes.
 */
export class PublicClientsRotate1763700000160 implements MigrationInterface {
  async up(db: QueryRunner): Promise<void> {
    await db.query(
      `update oauth_clients set rotate_refresh_tokens = true where client_type = 'public' and not rotate_refresh_tokens`,
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
