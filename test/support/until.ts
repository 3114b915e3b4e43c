import { setTimeout as sleep } from 'node:timers/promises';
import { patience } from './patience.js';

/**
 * Repeats a check until it succeeds.
 * @param what for the error: `the outage is noticed`
 * @returns the first result that is neither false, null nor undefined; a check that throws counts as "not yet"
 */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  { timeoutMs = patience, everyMs = 50 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Exclude<NonNullable<T>, false>> {
  let last: unknown;
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(everyMs)) {
    try {
      const found = await look();
      if (found !== false && found !== null && found !== undefined) return found as Exclude<NonNullable<T>, false>;
      last = found;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`Not within ${timeoutMs} ms: ${what} (last: ${last instanceof Error ? last.message : last})`);
}
