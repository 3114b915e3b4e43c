import type { World } from '../world.js';
import type { Looked } from './looked.js';

/** The longest that a request may take, whatever is broken. */
const longestMs = 30_000;

export function requestsWereAnswered({ client, find }: World): Looked {
  const { attempts } = client;
  for (const { name, ms, status } of attempts) {
    if (ms > longestMs) find(`${name}: answered ${status} only after ${(ms / 1000).toFixed(1)} s`);
  }
  return [['requests', attempts.length]];
}
