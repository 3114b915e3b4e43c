import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { type Db, inTransaction } from '../../platform/database/db.js';
import { spend } from '../one-time/spent-tokens.js';
import { SsoRefused } from '../sso-protocols/assertion.js';

type What = 'answer' | 'message';

/** A message of a connection's provider. */
interface Message {
  /** The provider's own. */
  id: string;
  /** When it would be refused as expired. */
  until: Date;
}

/** Marks a message as accepted. False if it was accepted before. */
export const acceptOnce = (
  db: Pick<Db, 'statement'>,
  { id: connectionId }: Pick<SsoConnection, 'id'>,
  { id, until }: Message,
): Promise<boolean> => spend(db, `sso:${connectionId}:${id}`, until);

/** Accepts a response, or another message, of a connection's provider once. @throws SsoRefused replayed */
export async function assertNotReplayed(
  db: Pick<Db, 'statement'>,
  connection: Pick<SsoConnection, 'id'>,
  message: Message,
  what: What = 'answer',
): Promise<void> {
  if (await acceptOnce(db, connection, message)) return;
  throw new SsoRefused('replayed', `This ${what} has already been used`);
}

/**
 * Accepts a message once, in a transaction: if that is rolled back, the message was not accepted.
 * @throws SsoRefused replayed
 */
export const assertNotReplayedIn = (
  tx: EntityManager,
  connection: Pick<SsoConnection, 'id'>,
  message: Message,
  what: What,
): Promise<void> => assertNotReplayed({ statement: inTransaction(tx) }, connection, message, what);
