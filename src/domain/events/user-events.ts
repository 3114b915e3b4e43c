import type { EntityManager } from 'typeorm';
import type { EventAction } from './catalogue.js';
import { type EventDetails, eventRow, eventsInsert, measureWritten } from './record.js';

const accountsOf = 'select account_id as "accountId" from memberships where user_id = $1 order by account_id';
const insert = eventsInsert('$1');

/**
 * Records what happened to a User's password or factors in the log of every Account that they administer, since all of
 * them rely on these. Without a User, or without an Account, the event is in no Account's log. It is counted once.
 * @param details `resourceId` is the User's id, or null if nobody has the address: that costs the same
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
