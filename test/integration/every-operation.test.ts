import { permissions } from '../../src/domain/access/roles/permissions.js';
import { capabilities } from '../../src/domain/capabilities/administrator-roles.js';
import { anyMember, type PermissionRule } from '../../src/http/surfaces/operation.js';
import { newMember } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, type Given, given, newUnique } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { isExport, isList, problemsOfExport, problemsOfList } from '../support/operations/filters.js';
import { type Kind, kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import type { Sent } from '../support/operations/sent.js';

/**
 * Who may call each operation, and how everybody else is refused (contract §10); and that lists are answered with every
 * filter.
 */

type Headers = Record<string, string>;
let api: TestApi;
let place: Place;
let operations: Declared[];
const ids = new Map<Kind, string>();

beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
  operations = await everyOperation(api.app);
});
afterAll(() => api?.stop());

/** Returns a valid input; its objects are created once, since no operation gets as far as changing them. */
function inputOf(declared: Declared): Promise<Sent> | Sent {
  const given: Given = {
    place,
    unique: newUnique(),
    async id(kind) {
      const id = ids.get(kind) ?? (await kinds[kind].make(place));
      ids.set(kind, id);
      return id;
    },
  };
  return exampleOf(examples, declared)(given);
}

const told = async (declared: Declared, headers: Headers) =>
  outcomeOf(await place.call(declared, declared.surface === 'own' ? {} : await inputOf(declared), null, headers));

/** Returns what each operation answers a caller, if it is not the expected answer. */
async function others(which: (one: Declared) => boolean, headersFor: (one: Declared) => Headers, expected: string) {
  const outcomes: string[] = [];
  const asked = operations.filter(which);
  for (const declared of asked) {
    const outcome = await told(declared, headersFor(declared));
    if (outcome !== expected) outcomes.push(`${declared.name}: ${outcome}`);
  }
  expect(asked.length).toBeGreaterThan(0);
  return outcomes;
}

const isPortal = ({ surface }: Declared) => surface === 'portal';
const isForServers = ({ surface }: Declared) => surface === 'public' || surface === 'authzen';
const isOwn = ({ surface, isSecured }: Declared) => surface === 'own' && isSecured;
const isOfIdentities = ({ url }: Declared) => url.startsWith('/v1/identity');

test('every operation names who may call it: a permission on the Public API, a capability on the Portal', () => {
  const silent = operations.filter(
    (one) =>
      (isForServers(one) && one.operation?.permission === undefined) ||
      (isPortal(one) && one.operation?.capability === undefined),
  );
  expect(silent.map(({ name }) => name)).toEqual([]);
  expect(operations.length).toBeGreaterThan(150);
});

test('every list is right for every pair of its filters, and every export is answered', async () => {
  const urls = new Set(operations.map(({ url }) => url));
  /** Whether the Public API offers it too: the same handler on another surface. */
  const isTwin = ({ url }: Declared) => {
    const [, path] = /^\/portal\/.*\{envSlug\}(\/.+)$/.exec(url) ?? [];
    return path !== undefined && urls.has(`/api/v1${path}`);
  };
  const asked = operations.filter((one) => (isList(one) || isExport(one)) && !isTwin(one));
  const inputs = new Map<Declared, Sent>();
  for (const declared of asked) inputs.set(declared, await inputOf(declared)); // the lists show what this creates
  const problems: string[] = [];
  for (const [declared, sent] of inputs) {
    if (isList(declared)) problems.push(...(await problemsOfList(place, declared, sent)));
  }
  for (const [declared, sent] of inputs) {
    if (isExport(declared)) problems.push(...(await problemsOfExport(place, declared, sent)));
  }
  expect(problems).toEqual([]);
  expect(asked.length).toBeGreaterThan(35);
});

test('no operation is allowed without a credential', async () => {
  expect(
    await others(
      (one) => one.surface !== 'own' || isOwn(one),
      () => ({}),
      '401',
    ),
  ).toEqual([]);
});

test('a request with two credentials is refused', async () => {
  const { key, owner } = place.headers;
  const both = { ...key, ...owner };
  expect(
    await others(
      ({ name }) => !name.endsWith('Page'),
      () => both,
      '400 auth.multiple_credentials',
    ),
  ).toEqual([]);
});

test('a credential of another kind has the wrong type, and an API key does not work on the Portal', async () => {
  const { key, owner, identity } = place.headers;
  expect(await others(isForServers, () => owner, '403')).toEqual([]);
  expect(await others(isPortal, () => identity, '403')).toEqual([]);
  expect(await others(isPortal, () => key, '401')).toEqual([]);
  const ofTheOther = (one: Declared) => (isOfIdentities(one) ? owner : identity);
  expect(await others(isOwn, ofTheOther, '403')).toEqual([]);
  expect(await others(isOwn, () => key, '401')).toEqual([]);
});

test('writes to objects without versions refuse If-Match, which would guard nothing, except *', async () => {
  const asked = operations.filter(
    ({ surface, method, operation }) =>
      surface === 'public' && ['PATCH', 'PUT'].includes(method) && !operation?.ifMatch,
  );
  const others: string[] = [];
  for (const declared of asked) {
    const sent = await exampleOf(examples, declared)(given(place));
    const answer = await place.call(declared, sent, 'key', { 'if-match': '"1"' });
    const [detail] = answer.json().error?.details ?? [];
    if (answer.statusCode !== 400 || detail?.code !== 'not_versioned') others.push(`${declared.name}: ${answer.body}`);
  }
  expect(others).toEqual([]);
  expect(asked.length).toBeGreaterThan(5);
  const update = asked.find(({ name }) => name === 'updateApiKey') as Declared;
  const sent = await exampleOf(examples, update)(given(place));
  expect(outcomeOf(await place.call(update, sent, 'key', { 'if-match': '*' }))).toBe('200');
});

/** Returns the denials since the last look. */
async function denials(): Promise<string[]> {
  const rows = await place.rows<{ said: string }>(
    `select distinct actor_type || ' ' || resource_id as said from events
     where account_id = $1 and action = 'auth.access_denied' and outcome = 'denied'`,
    [place.scope.accountId],
  );
  return rows.map(({ said }) => said);
}

const cache = new Map<string, Promise<Headers>>();
const onceFor = (key: string, make: () => Promise<Headers>) => {
  if (!cache.has(key)) cache.set(key, make());
  return cache.get(key) as Promise<Headers>;
};

/** Calls every operation as a caller with every permission but its own: the refusal names that one. */
async function lacking(
  which: (one: Declared) => boolean,
  {
    actor,
    expected,
    rightsOf,
    placeOf = () => '',
  }: {
    actor: string;
    expected: string;
    rightsOf: (one: Declared) => readonly string[];
    placeOf?: (one: Declared) => string;
  },
  headersFor: (one: Declared) => Promise<Headers>,
) {
  const problems: string[] = [];
  const asked = operations.filter(which);
  for (const declared of asked) {
    const input = await inputOf(declared);
    const answer = await place.call(declared, input, null, await headersFor(declared));
    const outcome = `${outcomeOf(answer)}: ${JSON.parse(answer.body).error?.details?.[0]?.message}`;
    if (outcome !== `${expected}: needs ${rightsOf(declared).join(' or ')}${placeOf(declared)}`)
      problems.push(`${declared.name}: ${outcome}`);
  }
  const written = new Set(await denials());
  const unwritten = asked.filter(({ operation }) => !written.has(`${actor} ${operation?.id}`));
  expect(problems).toEqual([]);
  expect(unwritten.map(({ name }) => name)).toEqual([]);
}

test('an administrator with every capability but the needed one is refused, with an audit row', async () => {
  const without = (missing: string) =>
    onceFor(missing, async () => {
      const url = `/portal/v1/accounts/${place.account.accountSlug}/administrator-roles`;
      const payload = { name: `All but ${missing}`, capabilities: capabilities.filter((one) => one !== missing) };
      const made = await api.app.inject({ method: 'POST', url, headers: place.headers.owner, payload });
      return (await newMember(api, place.account, { roleId: made.json().data.id })).headers;
    });
  const asksFor = ({ operation }: Declared) => operation?.capability as string;
  await lacking(
    (one) => isPortal(one) && one.operation?.capability !== anyMember,
    { actor: 'platform_admin', expected: '403 account.capability_required', rightsOf: (one) => [asksFor(one)] },
    (one) => without(asksFor(one)),
  );
});

const permissionsOf = ({ operation }: Declared): readonly string[] => {
  const rule = operation?.permission as PermissionRule;
  return typeof rule === 'string' ? [rule] : rule.anyOf;
};
/** A person can hold a permission elsewhere than where it is needed. */
const placeOf = ({ operation }: Declared): string => {
  const rule = operation?.permission as PermissionRule;
  return typeof rule === 'string' || rule.at === 'root' ? " at the environment's root" : '';
};
const allBut = (missing: readonly string[]) => permissions.filter((one) => !missing.includes(one));

test('a key with every scope but the needed one is refused, with an audit row', async () => {
  await lacking(
    isForServers,
    { actor: 'api_key', expected: '403 api_key.scope_required', rightsOf: permissionsOf },
    (one) => {
      const missing = permissionsOf(one);
      return onceFor(`key ${missing}`, () => place.account.apiKey([...allBut(missing)]));
    },
  );
});

test('an end user with every permission but the needed one is refused, with an audit row', async () => {
  await lacking(
    isForServers,
    { actor: 'identity', expected: '403 permission.required', rightsOf: permissionsOf, placeOf },
    (one) => {
      const missing = permissionsOf(one);
      return onceFor(`identity ${missing}`, async () => {
        const name = `All but ${missing.join(' and ')}`;
        await place.make('/roles', { name, permission_keys: allBut(missing) });
        return (await newIdentityCaller(api, place, [{ role: name }])).headers;
      });
    },
  );
});
