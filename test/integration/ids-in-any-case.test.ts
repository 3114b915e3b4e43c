import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import type { Sent } from '../support/operations/sent.js';

/** RFC 9562 §4: UUIDs are accepted in upper case, too, and output in lower case. */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns an input with all its ids in upper case. */
function inUpperCase({ ids }: Declared, sent: Sent): Sent {
  const upper = (value: unknown, at: string): unknown => {
    if (typeof value === 'string') return ids.includes(at) && uuid.test(value) ? value.toUpperCase() : value;
    if (Array.isArray(value)) return value.map((one) => upper(one, `${at}[]`));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, upper(one, `${at}.${name}`)]));
  };
  const parts = (['path', 'query', 'body'] as const).map((part) => [part, upper(sent[part], part)]);
  return { ...sent, ...Object.fromEntries(parts) };
}

async function problemOf(declared: Declared): Promise<string | null> {
  const caller = declared.surface === 'portal' ? 'owner' : 'key';
  const send = async (one: Sent) => api.app.inject(await place.request(declared, one, caller));
  const sent = await exampleOf(examples, declared)(given(place));
  const answer = await send(inUpperCase(declared, sent));
  if (answer.statusCode >= 300) return answer.body;
  const written = answer.body.match(/(?<=")[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}(?=")/g) ?? [];
  const echoed = written.find((id) => id !== id.toLowerCase());
  if (echoed) return `answers ${echoed}`;
  const isSame = declared.method !== 'GET' || answer.body === (await send(sent)).body;
  return isSame ? null : 'answers otherwise in upper case';
}

test('an id in upper case is the same id, and returned in lower case', async () => {
  const naming = (await everyOperation(api.app)).filter(
    ({ ids, surface }) => ids.length > 0 && (surface === 'public' || surface === 'portal'),
  );
  const problems: string[] = [];
  for (const declared of naming) {
    const problem = await problemOf(declared);
    if (problem) problems.push(`${declared.name}: ${problem.slice(0, 200)}`);
  }
  expect(problems).toEqual([]);
  expect(naming.length).toBeGreaterThan(100);
});

test('an id that is written as a URN is not found', async () => {
  const { id } = await place.make('/identities', { email: 'urn@example.com' });
  const answer = await api.app.inject({ url: `/api/v1/identities/urn:uuid:${id}`, headers: place.headers.key });
  expect(outcomeOf(answer)).toBe('404 identity.not_found');
});
