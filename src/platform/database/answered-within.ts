import type { Db } from './db.js';

/**
 * Bounds all statements of a loop in a worker. On a connection whose other end is gone it would wait as long as a batch
 * may take, and nothing would be done meanwhile.
 */
export const answeredWithin = (db: Pick<Db, 'statement'>, withinMs: number): Pick<Db, 'statement'> => ({
  statement: (one, values) => db.statement({ ...one, withinMs }, values),
});
