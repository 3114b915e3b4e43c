import type { JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../platform/clock.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import { createKeySets, keySetOf } from '../../platform/outbound/key-sets.js';
import type { Client } from './clients.js';
import { OAuthError } from './oauth-error.js';

export interface ClientKeys {
  /** The public keys that a client registered, as jose's key resolver. */
  of(client: Client): Promise<JWTVerifyGetKey>;
}

/** Keys of `private_key_jwt` clients: registered as they are, or behind a `jwks_uri` that is fetched and kept. */
export function createClientKeys({ outbound, now }: { outbound: Pick<Outbound, 'get'>; now: Clock }): ClientKeys {
  const keySets = createKeySets({ outbound, unreadable, now });
  return {
    async of({ jwks, jwksUri }) {
      if (jwks) return keySetOf(jwks, unreadable);
      if (!jwksUri) throw unreadable();
      return keySets.at(jwksUri);
    },
  };
}

const unreadable = () => new OAuthError('invalid_client', "the client's keys cannot be read");
