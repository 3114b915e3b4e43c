import type { EntityManager } from 'typeorm';
import type { EventAction } from './catalogue.js';
import { type EventDetails, eventRow, eventsInsert, measureWritten } from './record.js';

const accountsOf = 'select account_id as "accountId" from memberships where user_id = $1 order by account_id';
const insert = eventsInsert('$1');

/**
 * Records what happened to the one password and the factors that a person has for all Accounts they administer, in the log of each of
 * them: each relies on these. What concerns nobody, or somebody without an Account, is in none. It is counted once.
 * @param details `resourceId` is the User's id, or null where an address is nobody's: that costs the same
 * @returns the id of one of the rows
 */
export async function recordOfUser(
  tx: EntityManager,
  action: EventAction,
  details: Omit<EventDetails, 'accountId' | 'applicationId' | 'environmentId'>,
): Promise<string> {
  const accounts = await tx.query<{ accountId: string }[]>(accountsOf, [details.resourceId]);
  const places = accounts.length > 0 ? accounts : [{ accountId: null }];
  const rows = places.map(({ accountId }) => eventRow(action, { ...details, accountId }));
  await tx.query(insert, [`[${rows.join()}]`]);
  measureWritten(tx, action, [details]);
  return JSON.parse(rows[0] as string).id;
}
