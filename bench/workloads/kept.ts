import { minutes } from '../../src/platform/clock.js';

/** Well within the life of an access token, which a whole run outlives; and an administrator may sign in five times in a quarter of an hour. */
const keptMs = minutes(5);

/** What is signed in once for all who ask with the same key, and anew when its token gets old. */
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
