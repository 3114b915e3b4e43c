import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { type Clock, minutes, seconds } from '../clock.js';
import { OutboundError } from './errors.js';
import type { Outbound } from './fetch.js';

export interface KeySets {
  /** The public keys behind a URL (RFC 7517 §5), as jose's key resolver. */
  at(uri: string): Promise<JWTVerifyGetKey>;
}

const keptFor = minutes(5);
/** A new key is looked for at once, but nobody can make us fetch all the time. */
const rereadAtUnknownKey = seconds(10);
const keptAtMost = 1000;

interface Kept {
  at: number;
  keys: JWTVerifyGetKey;
}

export interface KeySetsDeps {
  outbound: Pick<Outbound, 'get'>;
  /** What is thrown where keys cannot be read. */
  unreadable: () => Error;
  now: Clock;
}

/** Fetches and keeps the key sets of others, through the guard of all URLs that tenants give. */
export function createKeySets({ outbound, unreadable, now }: KeySetsDeps): KeySets {
  const kept = new Map<string, Kept>();

  async function fetched(uri: string, maxAge: number): Promise<Kept> {
    const at = now().getTime();
    const found = kept.get(uri);
    if (found && at - found.at < maxAge) return found;
    const keys = keySetOf(await read(uri), unreadable);
    if (kept.size >= keptAtMost) kept.clear();
    kept.set(uri, { at, keys });
    return { at, keys };
  }

  async function read(uri: string): Promise<unknown> {
    try {
      const { status, body } = await outbound.get(uri, { accept: 'application/json' });
      if (status !== 200) throw unreadable();
      return JSON.parse(body.toString('utf8'));
    } catch (error) {
      if (error instanceof OutboundError || error instanceof SyntaxError) throw unreadable();
      throw error;
    }
  }

  return {
    async at(uri) {
      const { keys } = await fetched(uri, keptFor);
      return async (header, token) => {
        try {
          return await keys(header, token);
        } catch (error) {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
          return (await fetched(uri, rereadAtUnknownKey)).keys(header, token);
        }
      };
    },
  };
}

/** @throws what `unreadable` makes, for what is no key set */
export function keySetOf(jwks: unknown, unreadable: () => Error): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(jwks as JSONWebKeySet);
  } catch {
    throw unreadable();
  }
}
