import { createHash, randomBytes } from 'node:crypto';
import { checkDatabase } from '../../src/check-database.js';
import { neededFor, neededKeys } from '../../src/domain/master-keys/needed.js';
import { reencrypt } from '../../src/domain/master-keys/reencrypt.js';
import { type MasterKey, parseMasterKeys } from '../../src/platform/crypto/master-keys.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import { StartError } from '../../src/platform/start-error.js';
import { startApi, type TestApi } from '../support/api.js';
import { newDatabase, openTestDb, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';

/** What `reencrypt` encrypts anew. Everything else that is sealed expires by itself, and is counted (`neededFor`). */
const resealed = [
  'mfa_factors.secret',
  'signing_keys.private_key_sealed',
  'sso_connections.oidc_client_secret_sealed',
  'sso_sessions.sealed_handle',
  'sso_signing_keys.private_key_sealed',
  'user_mfa_factors.secret',
  'webhooks.previous_secret',
  'webhooks.secret',
];

const old = `test:${Buffer.alloc(32, 7).toString('base64')}`; // the key of `startApi`
const common = { baseUrl: 'https://id.example.com', signingKeyBits: 2048 };
const fresh = `fresh:${randomBytes(32).toString('base64')}`;

let api: TestApi;
let place: Place;
const others: TestApi[] = [];
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(async () => {
  for (const other of others) await other.stop();
  await api?.stop();
});

/** Starts another process on the same database. */
async function processWith(masterKeys: string): Promise<TestApi> {
  const other = await startApi({ MASTER_KEYS: masterKeys }, undefined, api.database);
  others.push(other);
  return other;
}

/** Returns the columns that contain anything sealed by the key of that id. */
async function sealedWith(id: string): Promise<string[]> {
  const columns = await rowsAsOwner<{ name: string; look: string }>(
    api.database.ownerUrl,
    `select table_name || '.' || column_name as name,
       format('select %L as name where exists (select from %I where %I::text ~ %L)',
         table_name || '.' || column_name, table_name, column_name, $1::text) as look
     from information_schema.columns where table_schema = 'public' and data_type in ('text', 'jsonb')`,
    [`(^|")${id}\\.[\\w-]{38,}`],
  );
  const looks = columns.map(({ look }) => look).join(' union all ');
  const found = await rowsAsOwner<{ name: string }>(api.database.ownerUrl, looks);
  return found.map(({ name }) => name).sort();
}

const statusOf = async ({ app }: TestApi, url: string, headers: Record<string, string>) =>
  (await app.inject({ url, headers })).statusCode;

test('every column with sealed content is encrypted anew, or counted until it has expired', async () => {
  const columns = await rowsAsOwner<{ name: string }>(
    api.database.ownerUrl,
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and column_name ~ 'sealed|key_id$' and column_name <> 'api_key_id'`,
  );
  const known = [...resealed, ...neededFor.map(({ table, column }) => `${table}.${column}`)];
  const fromOutside = ['refresh_tokens.successor_key_id']; // for the ten seconds in which a used one is answered
  expect(columns.map(({ name }) => name).filter((name) => ![...known, ...fromOutside].includes(name))).toEqual([]);
});

test('a master key is replaced while the service runs, and the old one can be removed then', async () => {
  const sealing = ['factor', 'ssoConnection', 'administratorInvite'] as const;
  for (const kind of sealing) await kinds[kind].make(place);
  const webhook = await kinds.webhook.make(place);
  const post = { method: 'POST', headers: { ...place.headers.key, 'idempotency-key': 'kept' } } as const;
  await api.app.inject({ ...post, url: '/api/v1/nodes', payload: { node_type: 'unit', name: 'Kept' } });
  expect(await sealedWith('test')).toEqual(
    expect.arrayContaining(['mfa_factors.secret', 'sso_connections.oidc_client_secret_sealed', 'webhooks.secret']),
  );

  // Both keys in all processes: first the new one after the old one, then before it.
  const [before, behind] = [await processWith(`${old},${fresh}`), await processWith(`${fresh},${old}`)];
  const asked: number[] = [];
  let isOver = false;
  const load = [api, before, behind].map(async (one) => {
    for (; !isOver; await new Promise(setImmediate)) {
      asked.push(await statusOf(one, '/v1/identity/auth/me', place.headers.identity));
      asked.push(await statusOf(one, '/api/v1/webhooks', place.headers.key));
    }
  });
  const masterKeys = parseMasterKeys(`${fresh},${old}`);
  const deps = { db: api.database.db, sealing: createSealing(masterKeys), now: () => new Date() };
  await expect(reencrypt(deps)).rejects.toThrow('no api or worker has begun with fresh as its first key');
  await checkDatabase(api.database.db, { ...common, masterKeys });
  const counts = new Map(await reencrypt(deps));
  isOver = true;
  await Promise.all(load);
  expect(new Set(asked)).toEqual(new Set([200]));
  expect(counts.get('webhook secrets')).toBeGreaterThan(0);
  expect([...new Map(await reencrypt(deps)).values()].every((count) => count === 0)).toBe(true);

  const left = await sealedWith('test');
  expect(left.filter((name) => resealed.includes(name))).toEqual([]);
  const needed = await neededKeys(deps, 'fresh');
  expect(new Set(needed.map(({ keyId }) => keyId))).toEqual(new Set(['test']));
  const said = needed.map(({ what }) => what);
  expect(said).toEqual(expect.arrayContaining(['links of invites of administrators', 'kept answers']));
  const counted = neededFor.filter(({ what }) => said.includes(what)).map(({ table, column }) => `${table}.${column}`);
  expect(left.filter((name) => !counted.includes(name) && !name.startsWith('idempotent_requests.'))).toEqual([]);

  const alone = await processWith(fresh);
  await expect(
    checkDatabase(alone.database.db, { ...common, masterKeys: parseMasterKeys(fresh) }),
  ).resolves.toBeUndefined();
  expect(await statusOf(alone, '/v1/identity/auth/me', place.headers.identity)).toBe(200);
  const rotated = { method: 'POST', headers: place.headers.key } as const;
  const url = `/api/v1/webhooks/${webhook}/rotate-secret`;
  expect((await alone.app.inject({ ...rotated, url, payload: {} })).statusCode).toBe(200);
  expect(await neededKeys({ ...deps, now: () => new Date(Date.now() + 400 * 86_400_000) }, 'fresh')).toEqual([]);
});

test('a stored request contains no fast hash of its password, and its retry is recognized under either master key', async () => {
  const id = await kinds.identity.make(place);
  const url = `/api/v1/identities/${id}/password`;
  const payload = { password: 'a quiet evening by the lake' };
  const headers = { ...place.headers.key, 'idempotency-key': 'a-password' };
  const put = async ({ app }: TestApi, body = payload) => {
    const answer = await app.inject({ method: 'PUT', url, headers, payload: body });
    return [answer.statusCode, answer.headers['idempotency-replayed'] ?? null];
  };
  expect(await put(api)).toEqual([200, null]);
  const rows = await rowsAsOwner<{ hash: Buffer; keyId: string }>(
    api.database.ownerUrl,
    `select request_hash as hash, request_key_id as "keyId" from idempotent_requests where key = 'a-password'`,
  );
  const plain = createHash('sha256')
    .update(`PUT\n${url}\n\n${JSON.stringify(payload)}`)
    .digest();
  expect(rows.map(({ hash, keyId }) => [hash.equals(plain), keyId])).toEqual([[false, 'test']]);
  expect(await put(api)).toEqual([200, 'true']);
  const next = await processWith(`${fresh},${old}`);
  expect(await put(next)).toEqual([200, 'true']);
  const other = { password: 'a loud morning by the lake' };
  expect([(await put(api, other))[0], (await put(next, other))[0]]).toEqual([400, 400]);
  // Answers that the previous release stored stay valid for the rest of their day.
  const before = 'update idempotent_requests set request_hash = $1, request_key_id = null where key = $2';
  await rowsAsOwner(api.database.ownerUrl, before, [plain, 'a-password']);
  expect(await put(next)).toEqual([200, 'true']);
});

describe('a process does not start with other master keys than those of its database', () => {
  const refusal = (masterKeys: MasterKey[], database: Pick<TestDatabase, 'db'> = api.database) =>
    checkDatabase(database.db, { ...common, masterKeys }).then(
      () => null,
      (error) => (error instanceof StartError ? error.message : error),
    );

  test('such as without one of them', async () => {
    const stranger = parseMasterKeys(`other:${randomBytes(32).toString('base64')}`);
    expect(await refusal(stranger)).toMatch(/^MASTER_KEYS has no key (test|fresh), /);
  });

  test('or with a different one of that name', async () => {
    const stranger = ['test', 'fresh'].map((id) => `${id}:${randomBytes(32).toString('base64')}`).join();
    expect(await refusal(parseMasterKeys(stranger))).toMatch(/^MASTER_KEYS has another key (test|fresh) than /);
  });

  test('nor with a mistyped key of a name that has encrypted something here, even if no signing key needs it; nothing is encrypted with it', async () => {
    const another = `fresh:${randomBytes(32).toString('base64')}`;
    const words = /^MASTER_KEYS has another key fresh than the one that has encrypted here since 20/;
    const mine = await newDatabase();
    const at = { db: mine.db, now: () => new Date() };
    const ordered = async () => {
      expect(await refusal(parseMasterKeys(`${old},${fresh}`), mine)).toBe(null);
      expect(await refusal(parseMasterKeys(`${old},${another}`), mine)).toBe(null); // it has encrypted nothing
      expect(await refusal(parseMasterKeys(`${fresh},${old}`), mine)).toBe(null);
      expect(await refusal(parseMasterKeys(`${old},${another}`), mine)).toMatch(words);
      expect(await refusal(parseMasterKeys(`${another},${old}`), mine)).toMatch(words);
      const mistyped = createSealing(parseMasterKeys(`${another},${old}`));
      await expect(reencrypt({ ...at, sealing: mistyped })).rejects.toThrow(words);
      expect(await neededKeys(at, 'test')).toEqual([]);
      const alone = createSealing(parseMasterKeys(fresh));
      await expect(reencrypt({ ...at, sealing: alone })).rejects.toThrow(/^MASTER_KEYS has no key test, /);
      const both = createSealing(parseMasterKeys(`${fresh},${old}`));
      expect(new Map(await reencrypt({ ...at, sealing: both })).get('signing keys')).toBe(1);
    };
    await ordered().finally(mine.close);
  });

  test('and starts with the right ones, in any order', async () => {
    expect(await refusal(parseMasterKeys(`${old},${fresh}`))).toBe(null);
    expect(await refusal(parseMasterKeys(`${fresh},${old}`))).toBe(null);
  });

  test('nor if two with different ones meet an empty database at once', async () => {
    const empty = await newDatabase();
    const one = () => refusal(parseMasterKeys(`test:${randomBytes(32).toString('base64')}`), empty);
    const refusals = await Promise.all([one(), one()]).finally(empty.close);
    expect(refusals.filter((reason) => reason === null)).toHaveLength(1);
    expect(refusals).toContainEqual(expect.stringMatching(/^MASTER_KEYS has another key test than /));
  });
});

test('a process does not start as a role that row-level security does not bind', async () => {
  const url = new URL(api.database.ownerUrl);
  const owner = await openTestDb(url.href, 1);
  const check = checkDatabase(owner, { ...common, masterKeys: parseMasterKeys(`${fresh},${old}`) });
  await expect(check.finally(owner.close)).rejects.toThrow(
    new StartError(
      `DATABASE_URL names ${url.username}, which row-level security does not bind: use a role that is no superuser and owns nothing`,
    ),
  );
});
