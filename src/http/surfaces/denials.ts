import { actorOf } from '../../domain/caller.js';
import { recordEvent } from '../../domain/events/record.js';
import type { Db } from '../../platform/database/db.js';
import type { Authorized } from './surface.js';

const written = new WeakSet<Error>();

/** Records a refused right as one audit row with outcome `denied` (contract §10). Returns the refusal, to be thrown. */
export async function recordDenial<E extends Error>(
  db: Db,
  { caller, scope }: Authorized,
  operationId: string,
  refusal: E,
): Promise<E> {
  if (written.has(refusal)) return refusal; // the surface itself has recorded it
  await db.transaction(scope, (tx) =>
    recordEvent(tx, 'auth.access_denied', {
      ...scope,
      resourceId: operationId,
      outcome: 'denied',
      actor: actorOf(caller),
    }),
  );
  written.add(refusal);
  return refusal;
}
