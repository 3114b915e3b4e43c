import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { type Db, inTransaction } from '../../platform/database/db.js';
import { spend } from '../spent-tokens.js';
import { SsoRefused } from '../sso-protocols/assertion.js';

type What = 'answer' | 'message';

/**
 * Accepts a response, or another message, of a connection's provider once; its id is the provider's own.
 * @param until when it would be refused as expired
 * @throws SsoRefused replayed
 */
export async function assertNotReplayed(
  db: Pick<Db, 'statement'>,
  { id: connectionId }: Pick<SsoConnection, 'id'>,
  { id, until }: { id: string; until: Date },
  what: What = 'answer',
): Promise<void> {
  if (await spend(db, `sso:${connectionId}:${id}`, until)) return;
  throw new SsoRefused('replayed', `This ${what} has already been used`);
}

/** Does the same in a transaction: if that is rolled back, the message was not accepted. @throws SsoRefused replayed */
export const assertNotReplayedIn = (
  tx: EntityManager,
  connection: Pick<SsoConnection, 'id'>,
  message: { id: string; until: Date },
  what: What,
): Promise<void> => assertNotReplayed({ statement: inTransaction(tx) }, connection, message, what);
