import { randomFillSync } from 'node:crypto';
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
