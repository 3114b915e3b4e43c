import { baseUrl, newAccount, startApi, type TestApi } from '../../support/api.js';
import { type Arriving, newInterleavedSso, type OpenIdProviders } from '../../support/interleaved/sso.js';
import { counted, unlikeBothOrders } from '../../support/interleaving.js';
import { startOpenIdProvider } from '../../support/openid-provider.js';
import { createRandom } from '../../support/random.js';
import { plannedConnections } from '../../support/sso.js';

/** Whatever happens at once while a person signs in or out at an OpenID provider, the outcome is that of one order. */

const planned = plannedConnections(baseUrl, 100);
let providers: OpenIdProviders;
let api: TestApi;
let people: Awaited<ReturnType<typeof newInterleavedSso>>;
beforeAll(async () => {
  const [theirs, another] = await Promise.all([startOpenIdProvider(planned), startOpenIdProvider(planned)]);
  providers = { theirs, another, ids: planned.ids };
  api = await startApi();
  people = await newInterleavedSso(api, await newAccount(api), providers);
});
afterAll(async () => {
  await api.stop();
  await Promise.all([providers.theirs.stop(), providers.another.stop()]);
});

type Happening = keyof typeof people.happenings;
const known: Arriving = { by: 'organization', isKnown: true };
const stranger: Arriving = { by: 'organization', isKnown: false };

/** Returns outcomes that neither order leads to, with the first stopped before each of its statements. */
async function unlikeAnywhere(arriving: Arriving, first: Happening, other: Happening) {
  const make = () => people.make(arriving);
  const person = await make();
  const { statements } = await counted(() => people.happenings[first](person));
  let at = 0;
  const pairs = Array(statements).fill([first, other]);
  return unlikeBothOrders(api.database.ownerUrl, { ...people, make }, pairs, () => ++at);
}

test.each<[string, Arriving, Happening, Happening[]]>([
  ['the answer of a provider', stranger, 'answer', ['logOutAtProvider', 'nameAnotherProvider']],
  ['the redirect to a provider', known, 'begin', ['deleteConnection', 'nameAnotherProvider']],
])(
  '%s and another request, interleaved at any statement, have the outcome of one order',
  async (_, arriving, first, others) => {
    for (const other of others) expect(await unlikeAnywhere(arriving, first, other)).toEqual([]);
  },
);

test('a logout token that is sent twice, or during the sign-in that it is about, has the outcome of one order', async () => {
  const { below } = createRandom(42);
  const pairs = (['logOutAtProvider', 'answer', 'complete'] as const).flatMap((other) => [
    ['logOutAtProvider', other] as const,
    [other, 'logOutAtProvider'] as const,
  ]);
  const kind = { ...people, make: () => people.make(known) };
  expect(await unlikeBothOrders(api.database.ownerUrl, kind, pairs, (statements) => 1 + below(statements))).toEqual([]);
});
