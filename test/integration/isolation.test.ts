import type { LightMyRequestResponse } from 'fastify';
import { startApi, type TestApi } from '../support/api.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, type Given, idsIn, newUnique, requireExamples } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { type Kind, kinds, levelOf, ownerOf, unknownOf } from '../support/operations/kinds.js';
import { type CallerKind, newPlaces, type Place } from '../support/operations/place.js';
import { checksumsOf } from '../support/operations/rows.js';
import type { Sent } from '../support/operations/sent.js';

/**
 * Two Accounts with two Environments each, every one with one of everything. From one Environment every operation is
 * tried with every id of the others.
 */

/** These take no id that the caller has a permission for: a token proves their input, in the tests named. */
const byToken: Record<string, string> = {
  login: 'admin-auth-login.test.ts',
  adminPasskey: 'admin-auth-passkey.test.ts',
  selectApplication: 'admin-auth-login.test.ts',
  startAdminSso: 'sso-administrators.test.ts',
  adminSsoCallback: 'sso-administrators.test.ts',
  selectApplicationAfterSso: 'sso-administrators.test.ts',
  identitySelectApplication: 'identity-auth-select-application.test.ts',
};

let api: TestApi;
let operations: Declared[];
/** The Environment in which the callers have every permission. */
let home: Filled;
/** The other Environment of the Account, and one of another Account. */
let sister: Filled;
let stranger: Filled;
/** What the lists of `home` contained before anything else existed. */
const alone = new Map<string, string>();

interface Filled {
  place: Place;
  ids: Record<Kind, string>;
}

async function fill(place: Place): Promise<Filled> {
  const ids: Partial<Record<Kind, string>> = {};
  for (const kind of Object.keys(kinds) as Kind[]) {
    const owner = ownerOf(kind);
    ids[kind] = await kinds[kind].make(place, owner && ids[owner]);
  }
  return { place, ids: ids as Record<Kind, string> };
}

beforeAll(async () => {
  api = await startApi();
  operations = (await everyOperation(api.app)).filter(({ name }) => !byToken[name]);
  requireExamples(examples, operations);
  const mine = await newPlaces(api);
  home = await fill(mine.development);
  await rememberLists((operation) => isOfEnvironment(operation));
  sister = await fill(mine.production);
  await rememberLists((operation) => !isOfEnvironment(operation));
  const theirs = await newPlaces(api);
  stranger = await fill(theirs.development);
  await fill(theirs.production);
});
afterAll(() => api?.stop());

const isOfEnvironment = ({ operation, url }: Declared) =>
  operation ? operation.level === 'environment' : url.startsWith('/v1/identity');

function callersOf({ surface, url }: Declared): CallerKind[] {
  if (surface === 'portal') return ['owner'];
  if (surface === 'own') return [url.startsWith('/v1/identity') ? 'identity' : 'owner'];
  return ['key', 'identity'];
}

/** Builds an input from what `home` has, except for the nth id, which is another's. */
async function sentWith(declared: Declared, unique: string, nth = -1, other: (kind: Kind) => string = unknownOf) {
  const named: { kind: Kind; id: string }[] = [];
  const given: Given = {
    place: home.place,
    unique,
    async id(kind) {
      const id = named.length === nth ? other(kind) : home.ids[kind];
      named.push({ kind, id });
      return id;
    },
  };
  return { sent: await exampleOf(examples, declared)(given), named };
}

const withIds = () => operations.filter(({ surface, ids }) => surface !== 'own' || ids.length > 0);

test('this test replaces every id of every operation by a foreign one', async () => {
  const unnamed: string[] = [];
  for (const declared of withIds()) {
    const { sent, named } = await sentWith(declared, newUnique());
    const standing = idsIn(sent);
    const known = new Set(named.map(({ id }) => id));
    const missing = declared.ids.filter((at) => !standing.get(at)?.every((id) => known.has(id)));
    if (missing.length > 0) unnamed.push(`${declared.name}: ${missing.join(', ')}`);
  }
  expect(unnamed).toEqual([]);
});

/** Pages that are the same for everybody, and what waits for a person alone: a parked intent, a new address. */
const namesNobody = /Page$|^readParkedAccount$|^readEmailChange$/;
/** Its cursor advances with all changes of the server; `changes.test.ts` tests its isolation. */
const movesOn = /listChanges$/i;

/** Reads lists, summaries and everything else, as answered, without the times at which people were last seen. */
async function* read(which: (operation: Declared) => boolean): AsyncGenerator<[string, string]> {
  for (const declared of operations.filter((one) => one.method === 'GET' && which(one))) {
    if (namesNobody.test(declared.name) || movesOn.test(declared.name)) continue;
    for (const by of callersOf(declared)) {
      const { sent } = await sentWith(declared, 'none');
      const answer = await home.place.call(declared, sent, by);
      if (answer.statusCode !== 200) throw new Error(`${declared.name} by ${by}: ${answer.statusCode} ${answer.body}`);
      yield [`${declared.name} by ${by}`, answer.body.replace(/"last_used_at":("[^"]*"|null)/g, '')];
    }
  }
}

async function rememberLists(which: (operation: Declared) => boolean): Promise<void> {
  for await (const [name, body] of read(which)) alone.set(name, body);
}

test('lists, counts and details are the same, whatever other Environments contain', async () => {
  const differing: string[] = [];
  for await (const [name, body] of read(() => true)) {
    if (body !== alone.get(name)) differing.push(`${name}: ${body} instead of ${alone.get(name)}`);
  }
  expect(differing).toEqual([]);
  expect(alone.size).toBeGreaterThan(80);
});

/** Returns an answer without all that may differ between two equal ones. */
function told({ statusCode, body }: LightMyRequestResponse, id: string): string {
  const same = body.replaceAll(id, '<id>').replace(/"(timestamp|path)":"[^"]*"/g, '');
  return `${statusCode} ${same}`;
}

/** For an Environment's ids all others are foreign; for the Account's, those of the other Account. */
const foreignFor = (kind: Kind): Filled[] => (levelOf(kind) === 'account' ? [stranger] : [sister, stranger]);

const names = (sent: Sent, id: string) =>
  [...idsIn(sent).values()].flat().includes(id) || Object.values(sent.slugs ?? {}).includes(id);

async function problemsOf(declared: Declared, by: CallerKind): Promise<string[]> {
  const problems: string[] = [];
  const unique = newUnique();
  const { named } = await sentWith(declared, unique);
  for (const [nth, { kind }] of named.entries()) {
    const unknown = unknownOf(kind);
    const call = (sent: Sent) => home.place.call(declared, sent, by);
    const withNothing = (await sentWith(declared, unique, nth, () => unknown)).sent;
    if (!names(withNothing, unknown)) continue; // the example only needed one to be there
    const ofNothing = told(await call(withNothing), unknown);
    for (const foreign of foreignFor(kind)) {
      const id = foreign.ids[kind];
      const { sent } = await sentWith(declared, unique, nth, () => id);
      const answer = await call(sent);
      const isInPath = Object.values({ ...sent.path, ...sent.slugs }).includes(id);
      const where = `${declared.name} by ${by} with a foreign ${kind}`;
      if (isInPath && answer.statusCode !== 404) problems.push(`${where}: ${answer.statusCode} ${answer.body}`);
      else if (told(answer, id) !== ofNothing) problems.push(`${where}: ${told(answer, id)} instead of ${ofNothing}`);
    }
  }
  return problems;
}

test('an id of another Environment or Account is answered like a missing one, and nothing of theirs changes', async () => {
  const look = await checksumsOf([
    { place: sister.place, wholeAccount: false },
    { place: stranger.place, wholeAccount: true },
  ]);
  const problems: string[] = [];
  let before = await look();
  for (const declared of withIds()) {
    for (const by of callersOf(declared)) problems.push(...(await problemsOf(declared, by)));
    if (declared.method === 'GET') continue; // the next look is soon enough, and looks take their time
    const after = await look();
    const changed = Object.keys(after).filter((table) => after[table] !== before[table]);
    if (changed.length > 0)
      problems.push(`${declared.name}, or what was read before it, changed foreign rows of ${changed}`);
    before = after;
  }
  expect(problems).toEqual([]);
});

test("another Account's slug is 404 in every Portal path", async () => {
  const problems: string[] = [];
  for (const declared of operations.filter(({ surface }) => surface === 'portal')) {
    const { sent } = await sentWith(declared, newUnique());
    const answer = await stranger.place.call(declared, sent, null, home.place.headers.owner);
    const { code } = answer.json().error ?? {};
    if (answer.statusCode !== 404 || code !== 'account.not_found') problems.push(`${declared.name}: ${answer.body}`);
  }
  expect(problems).toEqual([]);
});
