import type { TestApi } from './api.js';
import { rowsAsOwner } from './database.js';

/** Returns the rows of a statement that runs as the owner of the database. */
export const rowsOf = <Row = Record<string, unknown>>({ database }: TestApi, text: string, values: unknown[] = []) =>
  rowsAsOwner<Row>(database.ownerUrl, text, values);

/** Returns the events of an Account from `since` on, as `action metadata`. */
export async function eventsSince(api: TestApi, accountId: string, since: string) {
  return rowsOf<{ action: string; metadata: object; application_id: string; environment_id: string; actor_id: string }>(
    api,
    `select action, metadata, application_id, environment_id, actor_id from events
     where account_id = $1 and created_at > $2::timestamptz and is_domain_event order by created_at, id`,
    [accountId, since],
  );
}

export const databaseTime = async (api: TestApi): Promise<string> =>
  (await rowsOf<{ now: string }>(api, 'select clock_timestamp()::text as now'))[0]?.now as string;
