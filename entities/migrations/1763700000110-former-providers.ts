import type { MigrationInterface, QueryRunner } from 'typeorm';
import { buildIndexes } from './build-indexes.js';

/**
 * The identity providers of a session's earlier sign-ins, before one in another way: a logout at any of them ends it
 * (docs/decisions/0046). Null for existing sessions, and those that a previous release renews: it stores only the last.
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
