import type { TestApi } from './api.js';
import type { Call } from './calls.js';
import { databaseTime, eventsSince, rowsOf } from './rows.js';

export const key = { 'idempotency-key': 'once' };

/** Returns how many refusals the audit log of an Account has. */
export const denialsIn = async (api: TestApi, accountId: string): Promise<number> =>
  (await rowsOf(api, `select from events where account_id = $1 and action = 'auth.access_denied'`, [accountId])).length;

/** Sends a request and its retry; expects equal answers and no effect of the second. @returns the first answer */
export async function sentTwice(
  api: TestApi,
  accountId: string,
  call: Call,
  ...[method, path, payload, more]: Parameters<Call>
) {
  const first = await call(method, path, payload, { ...more, ...key });
  const since = await databaseTime(api);
  const before = await denialsIn(api, accountId);
  const again = await call(method, path, payload, { ...more, ...key });
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect([again.statusCode, again.body]).toEqual([first.statusCode, first.body]);
  expect(await eventsSince(api, accountId, since)).toEqual([]);
  expect(await denialsIn(api, accountId)).toBe(before);
  return first;
}
