import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { type Clock, minutes, seconds } from '../../platform/clock.js';
import { OutboundError } from '../../platform/outbound/errors.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import type { Client } from './clients.js';
import { OAuthError } from './oauth-error.js';

export interface ClientKeys {
  /** The public keys that a client registered, as jose's key resolver. */
  of(client: Client): Promise<JWTVerifyGetKey>;
}

const keptFor = minutes(5);
/** A new key is looked for at once, but nobody can make us fetch all the time. */
const rereadAtUnknownKey = seconds(10);
const keptAtMost = 1000;

interface Kept {
  at: number;
  keys: JWTVerifyGetKey;
}

/** Keys of `private_key_jwt` clients: registered as they are, or behind a `jwks_uri` that is fetched and kept. */
export function createClientKeys({ outbound, now }: { outbound: Outbound; now: Clock }): ClientKeys {
  const kept = new Map<string, Kept>();

  async function fetched(uri: string, maxAge: number): Promise<Kept> {
    const at = now().getTime();
    const found = kept.get(uri);
    if (found && at - found.at < maxAge) return found;
    const keys = keySet(await read(uri));
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
    async of({ jwks, jwksUri }) {
      if (jwks) return keySet(jwks);
      if (!jwksUri) throw unreadable();
      const { keys } = await fetched(jwksUri, keptFor);
      return async (header, token) => {
        try {
          return await keys(header, token);
        } catch (error) {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
          return (await fetched(jwksUri, rereadAtUnknownKey)).keys(header, token);
        }
      };
    },
  };
}

function keySet(jwks: unknown): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(jwks as JSONWebKeySet);
  } catch {
    throw unreadable();
  }
}

const unreadable = () => new OAuthError('invalid_client', "the client's keys cannot be read");
