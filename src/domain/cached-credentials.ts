import type { EntityManager } from 'typeorm';
import { afterCommit } from '../platform/database/scoped-runner.js';

/** The channel that tells every api process to forget the API keys and OAuth clients that it has cached. */
export const cachedCredentialsChannel = 'gatehouse_cached_credentials';

export interface CachesCredentials {
  /**
   * Has this process forget what it has cached once it has made a change itself: the notification takes a moment, and the
   * caller's next request may come sooner. By default it waits for the notification, as all others do.
   */
  forgetCached?: () => void;
}

/**
 * Notifies them when the caller's transaction commits. Call it if keys or clients were changed, or deleted with their
 * owner, or if something was changed that a cached client includes: its Environment's settings, or which SSO connections
 * are active there.
 */
export async function announceCredentials(tx: EntityManager, { forgetCached }: CachesCredentials = {}): Promise<void> {
  if (forgetCached) afterCommit(tx, forgetCached);
  await tx.query(`select pg_notify($1, '')`, [cachedCredentialsChannel]);
}
