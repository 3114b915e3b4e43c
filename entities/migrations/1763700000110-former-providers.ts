import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * By which identity providers a session had begun, or gone on, before it went on in another way: their ends are its end
 * (docs/decisions/0046). Null of all that is there, and of what a release before goes on with: it remembers the last one alone.
 */
export class FormerProviders1763700000110 implements MigrationInterface {
  transaction = false;

  async up(db: QueryRunner): Promise<void> {
    await db.query(`alter table sessions
      add column if not exists former_sso_connection_ids uuid[],
      add column if not exists former_sso_session_ids uuid[]`);
    await buildIndexes(db, {
      sessions_former_sso_connections: 'on sessions (environment_id) where former_sso_connection_ids is not null',
    });
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}
