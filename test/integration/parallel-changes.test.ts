import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { newPlaces, type Place } from '../support/operations/place.js';

/** Every operation with an If-Match, many times at once with one version (contract §1). */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

const callerOf = ({ surface }: Declared) => (surface === 'portal' ? 'owner' : 'key');

async function problemOf(declared: Declared): Promise<string | null> {
  const sent = await exampleOf(examples, declared)(given(place));
  const request = await place.request(declared, sent, callerOf(declared));
  const version = Number(request.headers?.['if-match']);
  const answers = await Promise.all(Array.from({ length: 8 }, () => api.app.inject(request)));
  const won = answers.filter(({ statusCode }) => statusCode < 300);
  if (won.length !== 1) return `${won.length} have won: ${answers.map(outcomeOf).join(', ')}`;
  const others = answers.filter((answer) => answer !== won[0]);
  for (const answer of others) {
    const isGone = declared.method === 'DELETE' && answer.statusCode === 404;
    const current = answer.json().data;
    if (!isGone && outcomeOf(answer) !== '409 version.conflict') return `another is told ${answer.body}`;
    if (!isGone && declared.method !== 'DELETE' && !(current?.version > version))
      return `another is not told what is so now: ${answer.body}`;
  }
  return null;
}

test('exactly one of many changes of one version wins, and the others get the current state', async () => {
  const versioned = (await everyOperation(api.app)).filter(({ operation }) => operation?.ifMatch);
  const problems: string[] = [];
  for (const declared of versioned) {
    const problem = await problemOf(declared);
    if (problem) problems.push(`${declared.name}: ${problem}`);
  }
  expect(problems).toEqual([]);
  expect(versioned.length).toBeGreaterThan(15);
});
