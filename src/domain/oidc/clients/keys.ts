import type { JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../platform/clock.js';
import type { Outbound } from '../../../platform/outbound/fetch.js';
import { createKeySets, keySetOf } from '../../../platform/outbound/key-sets.js';
import { DomainError } from '../../errors.js';
import { OAuthError } from '../oauth-error.js';
import type { Client } from './clients.js';

export interface ClientKeys {
  /**
   * The public keys that a client has registered, as jose's key resolver.
   * @throws OAuthError invalid_client; DomainError service.unavailable if its `jwks_uri` does not respond, which is not
   *   the client's fault. The resolver throws the same for a key that it has to fetch again
   */
  of(client: Client): Promise<JWTVerifyGetKey>;
}

/** Keys of `private_key_jwt` clients: registered themselves, or behind a `jwks_uri`, which is fetched and cached. */
export function createClientKeys({ outbound, now }: { outbound: Pick<Outbound, 'get'>; now: Clock }): ClientKeys {
  const keySets = createKeySets({ outbound, unreadable, now });
  return {
    async of({ jwks, jwksUri }) {
      if (jwks) return keySetOf(jwks, () => unreadable('wrong'));
      if (!jwksUri) throw unreadable('wrong');
      return keySets.at(jwksUri);
    },
  };
}

const unreadable = (why: 'away' | 'wrong') =>
  why === 'away'
    ? new DomainError('service.unavailable', { retryAfter: 5 })
    : new OAuthError('invalid_client', "the client's keys cannot be read");
