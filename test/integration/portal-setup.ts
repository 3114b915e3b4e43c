import type { LightMyRequestResponse } from 'fastify';
import { createRemovals } from '../../src/domain/removals/removals.js';
import type { TestApi } from '../support/api.js';
import { rowsAsOwner } from '../support/database.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Call = (
  method: Method,
  path: string,
  payload?: object,
  more?: Record<string, string>,
) => Promise<LightMyRequestResponse>;

/** Calls below one Account's prefix with one administrator's credential. */
export const callsOf =
  ({ app }: TestApi, accountSlug: string, headers: Record<string, string>): Call =>
  (method, path, payload, more = {}) =>
    app.inject({
      method,
      url: `/portal/v1/accounts/${accountSlug}${path}`,
      headers: { ...headers, ...more },
      ...(payload && { payload }),
    });

/** `409 application.slug_taken`; of a success the status alone. */
export const outcomeOf = (response: LightMyRequestResponse): string =>
  [response.statusCode, response.body && response.json().error?.code].filter(Boolean).join(' ');

export const outcomesOf = (responses: LightMyRequestResponse[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const outcome of responses.map(outcomeOf)) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

export const rowsOf = <Row = Record<string, unknown>>({ database }: TestApi, text: string, values: unknown[] = []) =>
  rowsAsOwner<Row>(database.ownerUrl, text, values);

/** What was recorded of an Account from `since` on, as `action metadata`. */
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

export const accessible = { access_state: 'accessible', can_access: true };

export const shape = {
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
};

/** Does what the processes of removals do, of which there are none beside an api alone; in batches of so many rows. */
export async function finishRemovals(api: TestApi, accountId: string, batchSize?: number): Promise<void> {
  const { db } = api.database;
  const removals = createRemovals({ db, now: () => new Date(), ...(batchSize && { batchSize }) });
  const running = `select id from environment_removals where account_id = $1 and status = 'running'`;
  for (const { id } of await rowsOf<{ id: string }>(api, running, [accountId])) {
    let outcome = await removals.advance(id);
    while (outcome !== 'ended') {
      if (outcome === 'done' && (await removals.complete(id)) === 'done') break;
      outcome = await removals.advance(id);
    }
  }
}

/** That a list of what was made here comes in these orders, and the other way round. @param listed asks for it, and names what comes */
export async function expectSorted(
  listed: (query: string) => Promise<string[]>,
  orders: Record<string, string[]>,
): Promise<void> {
  for (const [column, expected] of Object.entries(orders)) {
    expect(await listed(`source=custom&sort_by=${column}&order=asc`)).toEqual(expected);
    expect(await listed(`source=custom&sort_by=${column}`)).toEqual(expected.toReversed());
  }
}
