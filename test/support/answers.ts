import type { LightMyRequestResponse } from 'fastify';
import { baseUrl } from './api.js';

/** Returns `409 application.slug_taken`; for a success the status alone. */
export const outcomeOf = (response: LightMyRequestResponse): string =>
  [response.statusCode, response.body && response.json().error?.code].filter(Boolean).join(' ');

export const outcomesOf = (responses: LightMyRequestResponse[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const outcome of responses.map(outcomeOf)) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

/** Returns the error code of a refusal. */
export const codeOf = (response: { json(): { error: { code: string } } }) => response.json().error.code;

/** Returns where an answer redirects to on the service itself, without the base URL. */
export const here = ({ headers }: LightMyRequestResponse) => String(headers.location).replace(baseUrl, '');

export const accessible = { access_state: 'accessible', can_access: true };

export const shape = {
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
};

/** Expects the list of what the test created in these orders and reversed. @param listed requests it, returns names */
export async function expectSorted(
  listed: (query: string) => Promise<string[]>,
  orders: Record<string, string[]>,
): Promise<void> {
  for (const [column, expected] of Object.entries(orders)) {
    expect(await listed(`source=custom&sort_by=${column}&order=asc`)).toEqual(expected);
    expect(await listed(`source=custom&sort_by=${column}`)).toEqual(expected.toReversed());
  }
}
