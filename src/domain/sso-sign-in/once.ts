import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { Db } from '../../platform/db.js';
import { spend } from '../spent-tokens.js';
import { SsoRefused } from '../sso-protocols/assertion.js';

/**
 * Takes an answer, or another message, of a connection's provider once; ids are the provider's own.
 * @param until when it would not be taken any more by itself
 * @throws SsoRefused replayed
 */
export async function assertOnce(
  db: Pick<Db, 'statement'>,
  { id: connectionId }: Pick<SsoConnection, 'id'>,
  { id, until }: { id: string; until: Date },
  what: 'answer' | 'message' = 'answer',
): Promise<void> {
  if (await spend(db, `sso:${connectionId}:${id}`, until)) return;
  throw new SsoRefused('replayed', `This ${what} was taken before`);
}
