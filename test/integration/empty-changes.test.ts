import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import type { Sent } from '../support/operations/sent.js';

/** Every PATCH and PUT with the present values, and a PATCH without values, records no event and no new version. */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

async function send(declared: Declared, sent: Sent) {
  const caller = declared.surface === 'portal' ? 'owner' : 'key';
  return api.app.inject(await place.request(declared, sent, caller));
}
const events = async () =>
  (await place.rows<{ id: string; action: string }>('select id, action from events order by id')).map(
    ({ action }) => action,
  );

async function problemOf(declared: Declared): Promise<string | null> {
  const sent = await exampleOf(examples, declared)(given(place));
  const first = await send(declared, sent);
  if (first.statusCode >= 300) return `the example does not work: ${first.body}`;
  const before = (await events()).length;
  for (const body of declared.method === 'PUT' ? [sent.body] : [sent.body, {}]) {
    const again = await send(declared, { ...sent, body });
    if (body !== sent.body && again.statusCode === 400) continue; // it requires a field
    if (outcomeOf(again) !== outcomeOf(first)) return `${JSON.stringify(body)} is answered ${again.body}`;
    const recorded = (await events()).slice(before);
    if (recorded.length > 0) return `${JSON.stringify(body)} is recorded as ${recorded}`;
    if (again.headers.etag !== first.headers.etag) return `${JSON.stringify(body)} is another version`;
  }
  return null;
}

/** Setting the same password again is a change: sessions end, and the person gets a mail. */
const alwaysChanges = ({ url }: Declared) => url.endsWith('/password');

test('a PATCH or PUT that changes nothing gets the usual answer, but records no event and no new version', async () => {
  const patches = (await everyOperation(api.app)).filter(
    (one) => ['PATCH', 'PUT'].includes(one.method) && ['public', 'portal'].includes(one.surface) && !alwaysChanges(one),
  );
  const problems: string[] = [];
  for (const declared of patches) {
    const problem = await problemOf(declared);
    if (problem) problems.push(`${declared.name}: ${problem}`);
  }
  expect(problems).toEqual([]);
  expect(patches.length).toBeGreaterThan(15);
});
