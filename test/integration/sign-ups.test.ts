import { randomUUID } from 'node:crypto';
import { countSignUp, createIdentity } from '../../src/domain/sign-ups/sign-up.js';
import { days } from '../../src/platform/clock.js';
import { newProvider, type TestProvider } from '../support/oauth/provider.js';

const provider = await newProvider();
afterAll(() => provider.close());

type Environment = Awaited<ReturnType<TestProvider['newEnvironment']>>;

const person = (cap: number) => ({
  email: `${randomUUID()}@example.com`,
  passwordHash: null,
  verified: true,
  firstName: null,
  lastName: null,
  cap,
  now: provider.now(),
});
const oneMore = ({ accountId, applicationId, environmentId }: Environment, cap: number) => {
  const scope = { accountId, applicationId, environmentId };
  return provider.db.transaction(scope, async (tx) => {
    const signingUp = person(cap);
    await countSignUp(tx, scope, signingUp);
    return createIdentity(tx, scope, signingUp);
  });
};
const outcomes = async (attempts: Promise<unknown>[]) => {
  const settled = await Promise.allSettled(attempts);
  return settled.map((one) => (one.status === 'fulfilled' ? 'created' : (one.reason as { code: string }).code));
};

test('forty sign-ups at once against a cap of ten create exactly ten identities', async () => {
  const environment = await provider.newEnvironment();
  const results = await outcomes(Array.from({ length: 40 }, () => oneMore(environment, 10)));
  expect(results.filter((result) => result === 'created')).toHaveLength(10);
  expect(results.filter((result) => result === 'sign_up.daily_cap_reached')).toHaveLength(30);
  const [{ identities, counted, counter, events } = {}] = await provider.query<Record<string, number>>(
    `select (select count(*)::int from identities where account_id = $1) as identities,
       (select count::int from daily_sign_ups where environment_id = $2) as counted,
       (select value::int from counters where environment_id = $2 and name = 'identities') as counter,
       (select count(*)::int from events where environment_id = $2 and action = 'identity.created') as events`,
    [environment.accountId, environment.environmentId],
  );
  expect({ identities, counted, counter, events }).toEqual({ identities: 10, counted: 10, counter: 10, events: 10 });
});

test('a cap of zero lets nobody in, and the count begins again with the next day of UTC', async () => {
  const environment = await provider.newEnvironment();
  expect(await outcomes([oneMore(environment, 0)])).toEqual(['sign_up.daily_cap_reached']);
  await oneMore(environment, 1);
  expect(await outcomes([oneMore(environment, 1)])).toEqual(['sign_up.daily_cap_reached']);
  provider.wait(days(1));
  expect(await outcomes([oneMore(environment, 1)])).toEqual(['created']);
});

test('the sign-ups of one Environment do not count in another', async () => {
  const [mine, other] = [await provider.newEnvironment(), await provider.newEnvironment()];
  expect(await outcomes([oneMore(mine, 1), oneMore(other, 1)])).toEqual(['created', 'created']);
});
