import { minutes } from '../../src/platform/clock.js';

/**
 * Well within the lifetime of an access token, which is shorter than a whole run; and an administrator may sign in five
 * times in a quarter of an hour.
 */
const keptMs = minutes(5);

/** Returns a function that signs in once for all callers with the same key, and again when the token gets old. */
export function createKept<Key, SignedIn>(): (key: Key, enter: () => SignedIn) => SignedIn {
  const held = new Map<Key, { since: number; signedIn: SignedIn }>();
  return (key, enter) => {
    const known = held.get(key);
    if (known && Date.now() - known.since < keptMs) return known.signedIn;
    const signedIn = enter();
    held.set(key, { since: Date.now(), signedIn });
    return signedIn;
  };
}
