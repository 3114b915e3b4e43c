import type { JWTPayload } from 'jose';
import { type Clock, minutes } from '../../../platform/clock.js';
import { isInvalidToken, type SigningKeys } from '../keys.js';

/** A signature holds as long as its key is published, and a process rereads the keys once a minute. */
const keptFor = minutes(1);
const keptAtMost = 5000;

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
  const kept = new Map<string, { until: number; claims: JWTPayload }>();

  function keep(token: string, claims: JWTPayload, at: number): void {
    if (kept.size >= keptAtMost) kept.clear();
    kept.set(token, { until: Math.min(at + keptFor, (claims.exp as number) * 1000), claims });
  }

  return async (token) => {
    const at = now().getTime();
    const known = kept.get(token);
    if (known && at < known.until) return known.claims;
    kept.delete(token);
    try {
      const claims = await keys.verify(token, { typ: 'at+jwt', audience });
      keep(token, Object.freeze(claims), at);
      return claims;
    } catch (error) {
      if (isInvalidToken(error)) return null;
      throw error;
    }
  };
}
