import type { EntityManager } from 'typeorm';

/** The channel that tells every api process to forget the API keys and OAuth clients that it has cached. */
export const cachedCredentialsChannel = 'gatehouse_cached_credentials';

/**
 * Notifies them when the caller's transaction commits. Call it if keys or clients were changed, or deleted with their
 * owner, or if something was changed that a cached client includes: its Environment's settings, or which SSO connections
 * are active there.
 */
export const announceCredentials = async (tx: EntityManager): Promise<void> => {
  await tx.query(`select pg_notify($1, '')`, [cachedCredentialsChannel]);
};
