import type { EntityManager } from 'typeorm';
import { type Clock, seconds } from '../platform/clock.js';
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

/** How old a cached credential may be, if its change was not announced (contract §5). */
const cachedFor = seconds(1);
const cacheSize = 1000;

/**
 * Creates a process's cache of API keys or OAuth clients, by their client id. Unknown ids and failures are not cached:
 * they would displace known ones.
 */
export function createCredentialCache<Credential extends object>(
  read: (clientId: string) => Promise<Credential | null>,
  now: Clock,
) {
  const cache = new Map<string, { at: number; credential: Promise<Credential | null> }>();

  function findAnew(clientId: string): Promise<Credential | null> {
    const credential = read(clientId);
    cache.delete(clientId);
    if (cache.size >= cacheSize) cache.clear();
    cache.set(clientId, { at: now().getTime(), credential });
    const drop = () => cache.get(clientId)?.credential === credential && cache.delete(clientId);
    credential.then((found) => found ?? drop(), drop);
    return credential;
  }

  return {
    find(clientId: string): Promise<Credential | null> {
      const cached = cache.get(clientId);
      const isFresh = cached && Math.abs(now().getTime() - cached.at) < cachedFor; // whichever way the clock was set
      return isFresh ? cached.credential : findAnew(clientId);
    },
    /** Reads a credential although it is cached, for example because another secret was presented. */
    findAnew,
    clear: () => cache.clear(),
  };
}
