import { isDeepStrictEqual } from 'node:util';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, given } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import { countsOf } from '../support/operations/rows.js';
import { rowsOf } from '../support/rows.js';

/** Every operation that changes something, sent many times at once with one Idempotency-Key (contract §1). */

const atOnce = 8;
let api: TestApi;
let place: Place;
let writing: Declared[];
let counts: () => Promise<Record<string, number>>;

beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
  counts = await countsOf(place);
  const declared = await everyOperation(api.app);
  const isPublic = new Set(declared.filter(({ surface }) => surface === 'public').map(({ example }) => example));
  // What both surfaces offer has one handler and one store of answers.
  writing = declared.filter(
    ({ surface, method, example }) =>
      method !== 'GET' && (surface === 'public' || (surface === 'portal' && !isPublic.has(example))),
  );
});
afterAll(() => api?.stop());

const requestOf = async (declared: Declared, key: string): Promise<InjectOptions> =>
  place.request(
    declared,
    await exampleOf(examples, declared)(given(place)),
    declared.surface === 'public' ? 'key' : 'owner',
    { 'idempotency-key': key },
  );

/** Returns by how much each table has grown or shrunk, without those that did not change. */
async function effectOf<T>(work: () => Promise<T>): Promise<{ effect: Record<string, number>; result: T }> {
  const before = await counts();
  const result = await work();
  const after = await counts();
  const changes = Object.entries(after).map(([table, n]) => [table, n - (before[table] ?? 0)] as const);
  return { effect: Object.fromEntries(changes.filter(([, n]) => n !== 0)), result };
}

/** Examples that change nothing: a DNS check that finds what was known, and a person who is active already. */
const changesNothing = /^(verify(Sso|Organization)Domain|activateIdentity)$/;

const [gone, created] = [
  ['identity.deleted', 'identity.erasure_requested'],
  ['identity.created', 'role_assignment.created'],
];
const signedOut = ['auth.identity_signed_out', 'identity.sessions_revoked'];
const removed = ['node.deleted', 'organization.deleted'];
/** The events of examples with more than one: operations declare which events they may record, but not when. */
const several: Record<string, string[]> = {
  addOrganizationMember: ['organization.member_added', 'role_assignment.created'],
  addResourcePermissions: ['permission.created', 'resource_permissions.added', 'role.updated'],
  cancelProcess: ['administrator_invite.revoked', 'process.cancelled'],
  createApplication: ['application.created', 'environment.created'],
  createIdentities: created,
  createIdentity: created,
  createOrganization: ['node.created', 'organization.created'],
  deleteApplication: ['application.deleted', 'environment.deleted'],
  deleteDirectoryIdentity: gone,
  deleteIdentity: gone,
  deleteOrganization: removed,
  deleteOrganizations: removed,
  endIdentitySession: signedOut,
  endIdentitySessions: signedOut,
  resetIdentityPassword: ['auth.identity_password_link_requested', 'identity.password_changed'],
  updateOrganization: ['node.updated', 'organization.updated'],
  updateOrganizationMember: ['organization.member_updated', 'role_assignment.created'],
};

/** Returns how a request's events differ from those that its example should record, under the request's id. */
async function unrecordedOf(
  { example, operation }: Declared,
  { headers }: LightMyRequestResponse,
): Promise<string | null> {
  const declared = operation?.events ?? [];
  if (declared.length === 0 || changesNothing.test(example)) return null;
  const rows = await rowsOf<{ action: string; actor_id: string | null; account_id: string | null; outcome: string }>(
    api,
    'select action, actor_id, account_id, outcome from events where correlation_id = $1',
    [headers['x-request-id']],
  );
  const recorded = [...new Set(rows.map(({ action }) => action))].sort();
  const isRight = several[example]
    ? isDeepStrictEqual(recorded, several[example])
    : recorded.length === 1 && (declared as string[]).includes(recorded[0] as string);
  if (!isRight) return `${several[example] ?? `one of ${declared}`} had to be recorded, and ${recorded} was`;
  const broken = rows.find((row) => row.actor_id === null || row.account_id === null || row.outcome !== 'success');
  return broken ? `an event of it is ${JSON.stringify(broken)}` : null;
}

async function problemOf(declared: Declared): Promise<string | null> {
  const { name } = declared;
  const once = await requestOf(declared, `${name}-once`);
  const single = await effectOf(() => api.app.inject(once));
  if (single.result.statusCode >= 300) return `the example does not work: ${single.result.body}`;
  const unrecorded = await unrecordedOf(declared, single.result);
  if (unrecorded) return unrecorded;

  const key = `${name}-many`;
  const many = await requestOf(declared, key);
  const parallel = await effectOf(() => Promise.all(Array.from({ length: atOnce }, () => api.app.inject(many))));
  const answered = parallel.result.filter((answer) => outcomeOf(answer) !== '409 idempotency.in_progress');
  const bodies = new Set(answered.map(({ statusCode, body }) => `${statusCode} ${body}`));
  if (bodies.size !== 1) return `answers differ: ${[...bodies].join('\n')}`;
  if (answered[0]?.statusCode !== single.result.statusCode) return `the answer is ${[...bodies]}`;
  const effect = JSON.stringify(parallel.effect);
  if (effect !== JSON.stringify(single.effect)) {
    // The first request may have met what earlier operations left.
    const next = await requestOf(declared, `${name}-next`);
    const expected = JSON.stringify((await effectOf(() => api.app.inject(next))).effect);
    if (effect !== expected) return `the effect is ${effect} instead of ${expected}`;
  }

  const later = await api.app.inject(many);
  if (!bodies.has(`${later.statusCode} ${later.body}`)) return `a later retry is answered ${later.body}`;
  const another = await requestOf(declared, key);
  if (another.url === many.url && isDeepStrictEqual(another.payload, many.payload)) return null;
  const reused = outcomeOf(await api.app.inject(another));
  return reused === '400 idempotency.key_reused' ? null : `another request with the key is ${reused}`;
}

test('one of many equal requests takes effect and is recorded, and all get its answer or a “try again”', async () => {
  const problems: string[] = [];
  for (const declared of writing) {
    const problem = await problemOf(declared);
    if (problem) problems.push(`${declared.name}: ${problem}`);
  }
  expect(problems).toEqual([]);
  expect(writing.length).toBeGreaterThan(55);
});
