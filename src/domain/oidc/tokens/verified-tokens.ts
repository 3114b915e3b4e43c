import type { JWTPayload } from 'jose';
import { type Clock, minutes } from '../../../platform/clock.js';
import { isInvalidToken, type SigningKeys } from '../keys.js';

/** A signature holds as long as its key is published, and a process rereads the keys once a minute. */
const cachedFor = minutes(1);
const cacheSize = 5000;

/**
 * Verifies access tokens: signature, issuer, type, audience and expiry; null for one that is not valid. A client
 * presents the same token many times, and a signature that was right a moment ago still is: only its expiry is checked
 * again. Whether the token is still in force (its session, its person) is not decided here, and is checked each time.
 */
export function createVerifiedTokens({
  keys,
  audience,
  now,
}: {
  keys: Pick<SigningKeys, 'verify'>;
  audience: string;
  now: Clock;
}): (token: string) => Promise<JWTPayload | null> {
  const cache = new Map<string, { until: number; claims: JWTPayload }>();

  function store(token: string, claims: JWTPayload, at: number): void {
    if (cache.size >= cacheSize) cache.clear();
    cache.set(token, { until: Math.min(at + cachedFor, (claims.exp as number) * 1000), claims });
  }

  return async (token) => {
    const at = now().getTime();
    const known = cache.get(token);
    if (known && at < known.until) return known.claims;
    cache.delete(token);
    try {
      const claims = await keys.verify(token, { typ: 'at+jwt', audience });
      store(token, Object.freeze(claims), at);
      return claims;
    } catch (error) {
      if (isInvalidToken(error)) return null;
      throw error;
    }
  };
}
