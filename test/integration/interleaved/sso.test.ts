import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { type Arriving, newInterleavedSso } from '../../support/interleaved/sso.js';
import { unlikeBothOrders } from '../../support/interleaving.js';
import { createRandom } from '../../support/random.js';

/** Whatever happens at once to a person who returns from their identity provider, the outcome is that of one order. */

let api: TestApi;
let people: Awaited<ReturnType<typeof newInterleavedSso>>;
beforeAll(async () => {
  api = await startApi();
  people = await newInterleavedSso(api, await newAccount(api));
});
afterAll(() => api.stop());

type Happening = keyof typeof people.happenings;
const toAnybody: Happening[] = [
  'completeInSecondTab',
  'signInElsewhere',
  'disable',
  'deleteConnection',
  'nameAnotherProvider',
  'deleteOrganization',
  'logOutAtProvider',
];
const toKnown: Happening[] = ['deactivate', 'remove', 'leave', 'changeAddress', 'suspend', 'deprovision', 'erase'];
const ends: Happening[] = ['disable', 'deleteConnection', 'nameAnotherProvider'];
const unasked = { samlAllowIdpInitiated: true };
const toNew: Happening[] = ['create', 'provision', 'releaseDomain'];

test.each<[string, Arriving, Happening, Happening[]]>([
  ['a known person signs in', { by: 'organization', isKnown: true }, 'complete', [...toAnybody, ...toKnown]],
  ['a new person signs in', { by: 'organization', isKnown: false }, 'complete', [...toAnybody, ...toNew]],
  [
    'a new person joins an environment',
    { by: 'environment', isKnown: false },
    'complete',
    ['signInElsewhere', 'deleteRole'],
  ],
  ['an answer arrives', { by: 'organization', isKnown: false }, 'answer', ends],
  ['an answer arrives too late', { by: 'organization', isKnown: false }, 'lateAnswer', ['disable', 'deleteConnection']],
  ['a provider sends someone unasked', { by: 'environment', isKnown: false, settings: unasked }, 'answerUnasked', ends],
])('while %s, another request is handled before or after, never in between', async (_, arriving, first, others) => {
  const once = others.flatMap((other) => [[first, other] as const, [other, first] as const]);
  const pairs = [...once, ...once]; // before another statement each time
  const { below } = createRandom(42);
  const { make, ...rest } = people;
  const kind = { ...rest, make: () => make(arriving) };
  expect(await unlikeBothOrders(api.database.ownerUrl, kind, pairs, (statements) => 1 + below(statements))).toEqual([]);
});

test('a new person signs in while their organization is deleted, which takes the locks in another order', async () => {
  const { make, ...rest } = people;
  const kind = { ...rest, make: () => make({ by: 'organization', isKnown: false }) };
  const stops = [8, 10, 12];
  const pairs = stops.map(() => ['deleteOrganization', 'complete'] as const);
  expect(await unlikeBothOrders(api.database.ownerUrl, kind, pairs, () => stops.pop() as number)).toEqual([]);
});

test('an answer of the former provider names nobody at the next one', async () => {
  const { make, happenings, left } = people;
  const person = await make({ by: 'organization', isKnown: true });
  expect(await happenings.nameAnotherProvider(person)).toBe('200');
  expect(await happenings.complete(person)).toBe('400 sso.stale');
  expect(await left(person)).toMatchObject({ links: null });
});
