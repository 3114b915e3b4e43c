import { randomFillSync } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';

/** Random bytes for many ids at once: one by one they cost more than the rest of an id. */
const random = new Uint8Array(256 * 16);
let used = random.length;

/** Returns a UUIDv7. Those of the same millisecond are in no order. */
export const newRequestId = (): string => uuidv7({ rng: sixteenBytes });

function sixteenBytes(): Uint8Array {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += 16;
  return random.subarray(used - 16, used);
}

const ofAuthzen = /^\/access\/v1\//;
/** An id that can be in a header, and is not too long; for ids that AuthZEN's callers choose. */
const echoed = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns the id that an answer names: ours, by which events and log lines are found. AuthZEN's callers name a request
 * by any text, and must find it again in the answer (1.0, "Request Identification"); that text is used for nothing
 * else.
 */
export function answeredId({ id, url, headers }: Pick<FastifyRequest, 'id' | 'url' | 'headers'>): string {
  const named = headers['x-request-id'];
  return ofAuthzen.test(url) && typeof named === 'string' && echoed.test(named) ? named : id;
}
