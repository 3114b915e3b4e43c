import { randomFillSync } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';

/** Asked of the system for many ids at once: one at a time it costs more than the rest of an id. */
const random = new Uint8Array(256 * 16);
let used = random.length;

/** A UUIDv7. Those of one millisecond come in no order. */
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
/** As it can be in a header, and no longer than the other ids that AuthZEN's callers name. */
const echoed = /^[\x20-\x7e]{1,255}$/;

/**
 * The id that an answer names: ours, by which events and lines of the log are found. AuthZEN's callers name a request by any text, and
 * must find the same in the answer (1.0, "Request Identification"); nothing else is done with it.
 */
export function answeredId({ id, url, headers }: Pick<FastifyRequest, 'id' | 'url' | 'headers'>): string {
  const named = headers['x-request-id'];
  return ofAuthzen.test(url) && typeof named === 'string' && echoed.test(named) ? named : id;
}
