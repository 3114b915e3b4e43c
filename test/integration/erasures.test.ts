import { randomUUID } from 'node:crypto';
import { createErasures, type StepOutcome } from '../../src/domain/erasures/erasures.js';
import { createMfaGraces } from '../../src/domain/mfa/grace/grace.js';
import { days } from '../../src/platform/clock.js';
import { runInContext } from '../../src/platform/context.js';
import { newProvider } from '../support/oauth/provider.js';
import { authorizeUrl } from '../support/oauth/sign-in.js';
import { refresh, tokensFor, userinfo } from '../support/oauth/tokens.js';

const world = await newProvider({ rateLimits: true });
const environment = await world.newEnvironment();
const client = await environment.newClient({ rotateRefreshTokens: true });
const erasures = createErasures({ db: world.db, now: world.now, batchSize: 2 });
afterAll(() => world.close());

/** Creates a person with all personal data, and activity: sessions, tokens, failed sign-ins, a grace. */
async function somebody() {
  const tag = randomUUID().slice(0, 8);
  const person = {
    email: `zenobia.${tag}@private.example`,
    firstName: `Zenobia${tag}`,
    lastName: `Quillfeather${tag}`,
    externalId: `crm-${tag}`,
    avatarUrl: `https://img.private.example/${tag}.png`,
    metadata: { badge: `badge-${tag}` },
  };
  const { id } = await environment.newIdentity(person);
  await world.query(
    `insert into counters (environment_id, name, account_id, value) values ($1, 'identities', $2, 1)
     on conflict (environment_id, name) do update set value = counters.value + 1`,
    [environment.environmentId, environment.accountId],
  );
  return {
    id,
    ...person,
    secrets: [person.email, person.firstName, person.lastName, person.externalId, person.avatarUrl, `badge-${tag}`],
  };
}
const invited = ({ email, firstName, lastName }: Awaited<ReturnType<typeof somebody>>, status: string) =>
  world.query(
    `insert into identity_invites (id, account_id, environment_id, intent, email, first_name, last_name, role_ids, locale, token_hash,
       token_key_id, link_number, status, invited_by_type, invited_by, created_at, expires_at, ended_at)
     values ($1, $2, $3, 'activate', $4, $5, $6, '{}', 'en', $7, 'k', 1, $8, 'api_key', $1, now(), now(), now())`,
    [
      randomUUID(),
      environment.accountId,
      environment.environmentId,
      email,
      firstName,
      lastName,
      Buffer.from(randomUUID()),
      status,
    ],
  );
const signIn = (email: string) => tokensFor(world.browser(), client, email);
const stepwise = async (step: (id: string) => Promise<StepOutcome>, id: string) => {
  const outcomes: StepOutcome[] = [];
  do outcomes.push(await step(id));
  while (outcomes.at(-1) === 'more');
  return outcomes;
};
async function carryOut(id: string) {
  await stepwise(erasures.deleteSessions, id);
  await stepwise(erasures.removeMemberships, id);
  return erasures.complete(id);
}
/** Returns every row of every table, as text. */
async function everything(): Promise<string> {
  const tables = await world.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by 1`,
  );
  expect(tables.length).toBeGreaterThan(30);
  const dumps = await Promise.all(
    tables.map(({ name }) =>
      world.query<{ text: string }>(`select '${name}: ' || (${name})::text as text from ${name}`),
    ),
  );
  return dumps
    .flat()
    .map(({ text }) => text)
    .join('\n');
}
const eventsOf = (identityId: string) =>
  world.query<{ action: string; environment_id: string | null; actor_id: string | null; metadata: object }>(
    `select action, environment_id, actor_id, metadata from events where resource_id = $1 and action like 'identity.%' and action <> 'identity.signed_in' order by id`,
    [identityId],
  );
const counter = async () =>
  Number(
    (
      await world.query<{ value: string }>('select value from counters where environment_id = $1', [
        environment.environmentId,
      ])
    )[0]?.value ?? 0,
  );

test('no row of any table contains personal data afterwards, only ids; what belongs to others stays', async () => {
  const [person, other] = [await somebody(), await somebody()];
  let { refresh_token: token } = await signIn(person.email);
  for (let i = 0; i < 5; i++) token = (await refresh(world.app, client, token)).json().refresh_token;
  await signIn(other.email);
  const browser = world.browser();
  await browser.submit(await browser.get(authorizeUrl(client)), { email: person.email, password: 'wrong' });
  const graces = createMfaGraces({ db: world.db, now: world.now, reminders: [days(3)] });
  await graces.start(environment, person.id, 3);
  await graces.advance(
    (await world.query<{ id: string }>('select id from mfa_graces where identity_id = $1', [person.id]))[0]!.id,
  );
  const { passwordReset, signUps } = world.logins;
  const asked = { client, email: person.email, locale: 'en' as const, parameters: { login_hint: person.email } };
  await passwordReset.forgot(asked);
  const settings = { passwordMinLength: 8, dailySelfSignupCap: 10 };
  const names = { firstName: null, lastName: null };
  await signUps.request({ ...asked, client: { ...client, settings }, ...names, password: 'lantern orchard seven' });
  // Invited once in vain, and once more after they have left.
  await invited(person, 'revoked');
  await invited(other, 'revoked');
  const before = await everything();
  for (const secret of person.secrets) expect(before).toContain(secret);
  const counted = await counter();

  const { id } = await erasures.request(environment, person.id);
  expect(await carryOut(id)).toBe('done');

  const after = await everything();
  for (const secret of person.secrets) expect(after).not.toContain(secret);
  for (const secret of other.secrets) expect(after).toContain(secret);
  const named = after.split('\n').filter((line) => line.includes(person.id));
  expect([...new Set(named.map((line) => line.split(':')[0]))].sort()).toEqual(['erasures', 'events', 'outbox']);
  expect(await counter()).toBe(counted - 1);
  expect(await world.query('select status, rest from erasures where id = $1', [id])).toEqual([
    { status: 'completed', rest: null },
  ]);
});

test('the request locks the person out, whenever the worker comes', async () => {
  const person = await somebody();
  const tokens = await tokensFor(world.browser(), client, person.email);
  await erasures.request(environment, person.id);
  expect((await userinfo(world.app, tokens.access_token)).statusCode).toBe(401);
  expect((await refresh(world.app, client, tokens.refresh_token)).statusCode).toBe(400);
  await expect(signIn(person.email)).rejects.toThrow();
});

test('every step may be repeated, each Environment has one event, and the events name who requested it', async () => {
  const person = await somebody();
  for (let i = 0; i < 3; i++) await tokensFor(world.browser(), client, person.email);
  const admin = randomUUID();
  const context = { correlationId: randomUUID(), actor: { type: 'platform_admin', id: admin } } as const;
  const { id } = await runInContext(context, () => erasures.request(environment, person.id));
  const counted = await counter();
  expect(await stepwise(erasures.deleteSessions, id)).toEqual(['more', 'more', 'done']); // three tokens, three sessions, in batches of two
  for (const _ of [1, 2]) expect(await stepwise(erasures.removeMemberships, id)).toEqual(['done']);
  expect(await erasures.complete(id)).toBe('done');
  for (const step of [erasures.deleteSessions, erasures.removeMemberships, erasures.complete])
    expect(await step(id)).toBe('ended');
  expect(await counter()).toBe(counted - 1);
  expect(await eventsOf(person.id)).toEqual([
    { action: 'identity.erasure_requested', environment_id: null, actor_id: admin, metadata: {} },
    { action: 'identity.deleted', environment_id: environment.environmentId, actor_id: admin, metadata: {} },
    { action: 'identity.deleted', environment_id: null, actor_id: admin, metadata: { erased: true } },
  ]);
});

test('a membership that is added meanwhile is deleted too, and its counter is right', async () => {
  const person = await somebody();
  const { id } = await erasures.request(environment, person.id);
  const counted = await counter();
  await stepwise(erasures.removeMemberships, id);
  await world.query(
    `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
     values (gen_random_uuid(), $1, $2, $3, true, now())`,
    [environment.accountId, environment.environmentId, person.id],
  );
  await world.query(`update counters set value = value + 1 where environment_id = $1`, [environment.environmentId]);
  expect(await erasures.complete(id)).toBe('more');
  expect(await carryOut(id)).toBe('done');
  expect(await counter()).toBe(counted - 1);
});

test('an erasure that is cancelled between two steps lists what is left in its row, and continues on the same request', async () => {
  const person = await somebody();
  await tokensFor(world.browser(), client, person.email);
  const { id } = await erasures.request(environment, person.id);
  await stepwise(erasures.deleteSessions, id);
  for (const _ of [1, 2]) expect(await erasures.cancel(id, 'cancelled_by_operator')).toBe('cancelled');
  const rest = { sessions: 0, environment_ids: [environment.environmentId], identity: true };
  expect(await world.query('select status, ended_reason, rest from erasures where id = $1', [id])).toEqual([
    { status: 'cancelled', ended_reason: 'cancelled_by_operator', rest },
  ]);
  const told = (await eventsOf(person.id)).filter(({ action }) => action === 'identity.erasure_cancelled');
  expect(told).toMatchObject([{ metadata: { reason: 'cancelled_by_operator', rest } }]);
  expect(await erasures.removeMemberships(id)).toBe('ended');
  const again = await erasures.request(environment, person.id);
  expect(again.id).toBe(id);
  expect(await carryOut(id)).toBe('done');
  expect(await erasures.cancel(id, 'cancelled_by_operator')).toBe('completed');
});

test('a cancelled erasure whose person was removed with an environment meanwhile is completed on request', async () => {
  const person = await somebody();
  const { id } = await erasures.request(environment, person.id);
  await erasures.cancel(id, 'cancelled_by_operator');
  await world.query('delete from identities where id = $1', [person.id]);
  for (const _ of [1, 2])
    expect(await erasures.request(environment, person.id)).toMatchObject({ id, status: 'completed' });
  expect(await world.query('select status, ended_reason, rest from erasures where id = $1', [id])).toEqual([
    { status: 'completed', ended_reason: null, rest: null },
  ]);
  expect(await erasures.look(id)).toBe('completed');
});

test('two requests are one erasure; a stranger is not found, and neither is another Account', async () => {
  const person = await somebody();
  const [first, second] = await Promise.all([1, 2].map(() => erasures.request(environment, person.id)));
  expect(second?.id).toBe(first?.id);
  expect(await eventsOf(person.id)).toHaveLength(1);
  const stranger = await world.newEnvironment();
  for (const scope of [stranger, { ...environment, accountId: randomUUID() }]) {
    await expect(erasures.request(scope, person.id)).rejects.toMatchObject({ code: 'identity.not_found' });
  }
  await expect(erasures.request(environment, randomUUID())).rejects.toMatchObject({ code: 'identity.not_found' });
});
