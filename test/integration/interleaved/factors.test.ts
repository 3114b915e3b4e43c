import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { newInterleavedFactors, type Waiting } from '../../support/interleaved/factors.js';
import { counted, interleaved, unlikeBothOrders } from '../../support/interleaving.js';
import { createRandom } from '../../support/random.js';

/**
 * Whatever happens at once to a person between their two factors, or while they change factors in their own account,
 * the outcome is that of one of the two orders.
 */

let api: TestApi;
let people: Awaited<ReturnType<typeof newInterleavedFactors>>;
beforeAll(async () => {
  api = await startApi();
  people = await newInterleavedFactors(api, await newAccount(api));
});
afterAll(() => api.stop());

type Happening = keyof typeof people.happenings;
const endsAll: Happening[] = ['deactivate', 'remove', 'changePassword'];
const session = { isStepUp: true };

/** Returns outcomes that neither of the two orders leads to. */
function unlike(waiting: Waiting, pairs: readonly (readonly [Happening, Happening])[], at: (of: number) => number) {
  const { make, ...rest } = people;
  return unlikeBothOrders(api.database.ownerUrl, { ...rest, make: () => make(waiting) }, pairs, at);
}

/** Like `unlike`, with the first of the two stopped before each of its statements. */
async function unlikeAnywhere(waiting: Waiting, first: Happening, other: Happening) {
  const person = await people.make(waiting);
  const { statements } = await counted(() => people.happenings[first](person));
  let at = 0;
  return unlike(waiting, Array(statements).fill([first, other]), () => ++at);
}

test.each<[string, Waiting, Happening, Happening[]]>([
  ["an app's code", { for: 'challenge' }, 'answer', ['answerInSecondTab', 'takeNoApps', 'deleteClient', ...endsAll]],
  ['a recovery code', { for: 'challenge' }, 'recover', ['recoverTwice', 'recoverInSecondTab', 'renewCodes', 'reset']],
  ['a mailed code', { for: 'mail' }, 'answerMail', ['answerMailTwice', 'removeFactor', 'reset', 'policyOff']],
  ["a session's second factor", { for: 'challenge', ...session }, 'answer', ['answerTwice', 'endSessions', 'reset']],
  ['a first app', { for: 'enrollment' }, 'enroll', ['enrollTwice', 'enrollInSecondTab', 'reset', ...endsAll]],
  ['saved recovery codes', { for: 'saving' }, 'save', ['saveTwice', 'changePassword', 'changePassword']],
  ['a passkey', { for: 'passkey' }, 'useKey', ['useKeyTwice', 'useKeyInSecondTab', 'deactivate']],
  ['a security key', { for: 'key' }, 'useKey', ['useKeyTwice', 'useKeyInSecondTab', 'removeFactor', 'reset', 'erase']],
  ['a first key', { for: 'newKey' }, 'useKey', ['useKeyTwice', 'useKeyInSecondTab']],
  ["a session's first app", { for: 'enrollment', ...session }, 'enroll', ['endSessions', 'policyRequired']],
  ['another app for their own account', { for: 'own' }, 'addApp', ['removeAppByApiElsewhere', 'reset', ...endsAll]],
  ['a first app for their own account', { for: 'ownFirst' }, 'addAppByApi', ['addAppInSecondTab', 'reset', ...endsAll]],
  ['removing their own app', { for: 'own' }, 'removeAppByApi', ['addAppInSecondTab', 'reset', 'erase', ...endsAll]],
  ['new recovery codes', { for: 'own' }, 'renewOwnCodes', ['removeAppByApiElsewhere', 'endSessions', ...endsAll]],
])(
  'a step with %s and another request at the same time have the outcome of one order',
  async (_, waiting, first, others) => {
    const pairs = others.flatMap((other) => [[first, other] as const, [other, first] as const]);
    const { below } = createRandom(42);
    expect(await unlike(waiting, pairs, (statements) => 1 + below(statements))).toEqual([]);
  },
);

test.each<Happening>(['answerTwice', 'removeFactor', 'reset'])(
  'the check of a code and "%s", interleaved at any statement, have the outcome of one order',
  async (other) => {
    expect(await unlikeAnywhere({ for: 'challenge' }, 'answer', other)).toEqual([]);
  },
);

test.each<[Waiting['for'], Happening]>([
  ['challenge', 'answer'],
  ['enrollment', 'enroll'],
])('a session that is ended at any statement of the %s stays ended', async (what, first) => {
  expect(await unlikeAnywhere({ for: what, ...session }, first, 'endSessions')).toEqual([]);
});

test.each<Happening>(['removeFactor', 'reset'])(
  'a sign-in with a passkey and "%s", interleaved at any statement, have the outcome of one order',
  async (other) => {
    expect(await unlikeAnywhere({ for: 'passkey' }, 'useKey', other)).toEqual([]);
  },
);

test.each<[Happening, Waiting['for'], Happening]>([
  ['addAppByApi', 'ownFirst', 'changePassword'],
  ['addApp', 'ownFirst', 'addAppByApiElsewhere'],
  ['removeApp', 'own', 'changePassword'],
  ['renewOwnCodesByApi', 'own', 'reset'],
])(
  '"%s" in the account (%s) and "%s", interleaved at any statement, have the outcome of one order',
  async (first, what, other) => {
    expect(await unlikeAnywhere({ for: what }, first, other)).toEqual([]);
  },
);

test('the passkey of a person who is erased meanwhile is refused like any other', async () => {
  const { make, happenings } = people;
  for (const at of [3, 4, 5]) {
    const person = await make({ for: 'passkey' });
    const passkey = () => happenings.useKey(person);
    const [came] = await interleaved(api.database.ownerUrl, at, passkey, () => happenings.erase(person));
    expect([at, came]).toEqual([at, '400 refused']);
  }
});
