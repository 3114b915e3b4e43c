import { startApi, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { type Declared, everyOperation } from '../support/operations/declared.js';
import { exampleOf, newUnique } from '../support/operations/example.js';
import { examples } from '../support/operations/examples-account.js';
import { type Kind, kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';

/** An upgrade adds columns under an api with prepared statements, which have to keep working (docs/decisions/0057). */

let api: TestApi;
let place: Place;
let reads: Declared[];
const ids = new Map<Kind, string>();
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
  reads = (await everyOperation(api.app)).filter(({ method, surface }) => method === 'GET' && surface !== 'own');
});
afterAll(() => api?.stop());

const idOf = async (kind: Kind): Promise<string> => {
  const maker = kinds[kind];
  const owner = 'belongsTo' in maker ? await idOf(maker.belongsTo as Kind) : undefined;
  const id = ids.get(kind) ?? (await maker.make(place, owner));
  ids.set(kind, id);
  return id;
};

/** Returns the answer of each operation that reads. */
async function answers(): Promise<string[]> {
  const all: string[] = [];
  for (const declared of reads) {
    const sent = await exampleOf(examples, declared)({ place, unique: newUnique(), id: idOf });
    const { statusCode } = await place.call(declared, sent, declared.surface === 'portal' ? 'owner' : 'key');
    all.push(`${declared.name}: ${statusCode}`);
  }
  return all;
}

/** Signs in, introspects and refreshes, three times each: statements are prepared from the third time on. */
async function signsIn(): Promise<number[]> {
  const { clientId: client_id, email, password } = place.identity;
  const statuses: number[] = [];
  const send = async (url: string, payload?: object, token?: string) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const answer = await api.app.inject({
      method: payload ? 'POST' : 'GET',
      url,
      headers,
      ...(payload && { payload }),
    });
    statuses.push(answer.statusCode);
    return (answer.json() as { data?: { access_token: string; refresh_token: string } }).data;
  };
  for (let i = 0; i < 3; i++) {
    const tokens = await send('/v1/identity/auth/login', { client_id, email, password });
    await send('/v1/identity/auth/me', undefined, tokens?.access_token);
    await send('/v1/identity/auth/refresh', { refresh_token: tokens?.refresh_token, client_id });
  }
  return statuses;
}

const addColumns = `do $$ declare one record; begin
  for one in select oid::regclass as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
  loop execute format('alter table %s add column added_later text not null default %L', one.name, 'x'); end loop;
end $$`;

test('every read and write keeps working when every table gets another column', async () => {
  await answers();
  const before = await answers();
  const signedIn = await signsIn();
  expect(before.length).toBeGreaterThan(60);
  expect(before.filter((answer) => !/: 2\d\d$/.test(answer))).toEqual([]);
  expect(new Set(signedIn)).toEqual(new Set([200]));

  await asOwner((owner) => owner.query(addColumns), api.database.ownerUrl);

  expect(await answers()).toEqual(before);
  expect(await signsIn()).toEqual(signedIn);
  for (const kind of [
    'identity',
    'node',
    'organization',
    'assignment',
    'webhook',
    'apiKey',
    'identityInvite',
  ] as const) {
    expect(await kinds[kind].make(place)).toEqual(expect.any(String));
  }
});
