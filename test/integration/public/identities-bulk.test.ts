import { pbkdf2Sync, randomBytes, scryptSync } from 'node:crypto';
import argon2 from 'argon2';
import bcrypt from 'bcrypt';
import { v7 as uuidv7 } from 'uuid';
import { createBulkIdentities } from '../../../src/domain/identities/bulk.js';
import { createHashing } from '../../../src/domain/passwords/hashing.js';
import { createSealing } from '../../../src/platform/crypto/sealing.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { Browser } from '../../support/oauth/browser.js';
import { newPkce } from '../../support/oauth/sign-in.js';
import { patience } from '../../support/patience.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

interface Item {
  index: number;
  status: 'created' | 'exists' | 'failed';
  id: string | null;
  error: { code: string; message: string; details?: { field: string; code: string; message: string }[] } | null;
}
const call = (method: 'GET' | 'POST', path: string, status: number, payload?: object, headers = key) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const bulk = async (identities: unknown[], headers = key): Promise<Item[]> =>
  (await call('POST', '/identities/bulk', 200, { identities }, headers)).json().items;
const address = () => `${uuidv7()}@example.com`;
const statuses = (items: Item[]) => items.map(({ status, error }) => error?.code ?? status);
const limits = (items: Item[]) => items.map(({ error }) => error?.details?.[0]?.code ?? null);
const detail = async (id: string | null, headers = key) =>
  (await call('GET', `/identities/${id}`, 200, undefined, headers)).json().data;
const total = async (headers = key): Promise<number> =>
  (await call('GET', '/identities?take=1', 200, undefined, headers)).json().pagination.item_count;
const events = (ids: (string | null)[]) =>
  rowsOf<{ resource_id: string; metadata: object }>(
    api,
    `select resource_id, metadata from events where action = 'identity.created' and resource_id = any($1) order by id`,
    [ids],
  );

describe('creating', () => {
  test('each gets its profile, its role, its event and its place in the total; the answer is in order', async () => {
    const before = await total();
    const role = { name: `Clerk ${uuidv7()}`, permission_keys: [] };
    const roleId = (await call('POST', '/roles', 201, role)).json().data.id;
    const node = (await call('POST', '/nodes', 201, { node_type: 'unit', name: 'A unit' })).json().data;
    const first = { email: address(), first_name: ' Ana ', last_name: 'Berg', email_verified: true };
    const items = await bulk([
      { ...first, external_id: uuidv7(), metadata: { plan: 'gold' }, role_id: roleId, node_id: node.id },
      { email: address(), role_id: roleId },
      { email: address() },
    ]);
    expect(items.map(({ index, status, error }) => [index, status, error])).toEqual(
      [0, 1, 2].map((index) => [index, 'created', null]),
    );
    expect(await detail(items[0]?.id as string)).toMatchObject({
      email: first.email,
      first_name: 'Ana',
      last_name: 'Berg',
      email_verified: true,
      is_active: true,
      metadata: { plan: 'gold' },
      roles: [{ id: roleId, node_id: node.id }],
    });
    expect((await detail(items[1]?.id as string)).roles).toMatchObject([{ id: roleId }]);
    expect((await detail(items[2]?.id as string)).roles).toEqual([]);
    expect(await total()).toBe(before + 3);
    const ids = items.map(({ id }) => id);
    expect((await events(ids)).map(({ resource_id, metadata }) => [resource_id, metadata])).toEqual(
      ids.map((id) => [id, { joined: false }]),
    );
  });

  test('an identity that is refused does not stop the others', async () => {
    const before = await total();
    const [taken, gone] = [uuidv7(), uuidv7()];
    await call('POST', '/identities', 201, { email: address(), external_id: taken });
    const items = await bulk([
      ...['nobody', { email: 'no address' }, { email: address(), shoe_size: 42 }, {}, null],
      ...[
        { email: address(), external_id: taken },
        { email: address(), metadata: { text: 'x'.repeat(17_000) } },
      ],
      ...[
        { email: address(), metadata: { a: 'x\0' } },
        { email: address(), external_id: 'x\0' },
      ],
      ...[
        { email: address(), metadata: { '\ud800': 1 } },
        { email: address(), password: 'violet tractor 19 \ud800' },
        { email: address(), node_id: gone },
      ],
      ...[
        { email: address(), role_id: gone },
        { email: address(), password: 'short' },
      ],
      ...[
        { email: address(), password: 'password1' },
        { email: address(), password: 'Josefine-22', last_name: 'Josefine' },
        { email: address(), password_hash: 'md5' },
      ],
      { email: address(), password: 'violet tractor 19', password_hash: `$2b$04$${'a'.repeat(53)}` },
      { email: address() },
    ]);
    const invalid = 'validation.failed';
    expect(statuses(items)).toEqual([
      ...[invalid, invalid, invalid, invalid, invalid],
      ...['identity.external_id_taken', invalid, invalid, invalid, invalid, invalid, invalid],
      ...['role.not_found', invalid, 'password.breached', 'password.context_specific'],
      ...['password.hash_unreadable', invalid, 'created'],
    ]);
    const fields = items.map(({ error }) => error?.details?.map(({ field, code }) => `${field} ${code}`).join());
    expect(fields).toEqual([
      ...['identities[0] type', 'identities[1].email format', 'identities[2].shoe_size unknown_field'],
      ...['identities[3].email required', 'identities[4] type', undefined, 'identities[6].metadata too_large'],
      ...[
        'identities[7] unstorable',
        'identities[8] unstorable',
        'identities[9] unstorable',
        'identities[10] unstorable',
      ],
      ...['identities[11].node_id without_role', undefined, 'identities[13].password password.too_short'],
      ...[undefined, undefined, undefined, 'identities[17].password_hash with_password', undefined],
    ]);
    expect(await total()).toBe(before + 2); // the earlier one, and the last
  });

  test('an address of a member is reported as existing, in upper or lower case; a repeated address gets the identity of the first', async () => {
    const email = address();
    const there = (await call('POST', '/identities', 201, { email, first_name: 'Ana' })).json().data.id;
    const fresh = address();
    const before = await total();
    const hash = await bcrypt.hash('imported secret', 4);
    const items = await bulk([
      { email: email.toUpperCase(), first_name: 'Eve', password_hash: hash },
      { email: fresh, first_name: 'Ben' },
      { email: fresh.toUpperCase(), first_name: 'Eve' },
    ]);
    expect(statuses(items)).toEqual(['exists', 'created', 'exists']);
    expect(items.map(({ id }) => id)).toEqual([there, items[1]?.id, items[1]?.id]);
    expect((await detail(there)).first_name).toBe('Ana');
    expect((await detail(items[1]?.id as string)).first_name).toBe('Ben');
    expect(await total()).toBe(before + 1);
    expect(await events(items.map(({ id }) => id))).toHaveLength(2);
    const state = (await call('GET', `/identities/${there}/auth-state`, 200)).json().data;
    expect(state.has_password).toBe(false);
  });

  test('a person in the Account’s directory joins unchanged; one who is being erased does not', async () => {
    const { accountId, environmentId } = account.productionScope;
    const known = address();
    const { id } = (await call('POST', '/identities', 201, { email: known, first_name: 'Ana' })).json().data;
    const leaving = (await call('POST', '/identities', 201, { email: address() })).json().data;
    await send(api.app, 204, { method: 'DELETE', url: `/api/v1/identities/${leaving.id}`, headers: key });
    const url = account.portalPath('/identities/bulk', 'production');
    const payload = { identities: [{ email: known, first_name: 'Eve' }, { email: leaving.email }, { email: known }] };
    const headers = await account.as('admin');
    const { items } = (await send(api.app, 200, { method: 'POST', url, headers, payload })).json();
    expect(statuses(items)).toEqual(['created', 'identity.email_taken', 'exists']);
    expect(items[1].error.details).toMatchObject([{ field: 'email', code: 'being_deleted' }]);
    expect([items[0].id, items[2].id]).toEqual([id, id]);
    expect(items.map(({ joined }: { joined: boolean }) => joined)).toEqual([true, false, false]);
    expect((await events([id])).map(({ metadata }) => metadata)).toEqual([{ joined: false }, { joined: true }]);
    const rows = await rowsOf(
      api,
      'select first_name from environment_memberships m join identities i on i.id = m.identity_id where m.account_id = $1 and m.environment_id = $2',
      [accountId, environmentId],
    );
    expect(rows).toEqual([{ first_name: 'Ana' }]);
  });

  test('an identity can be created inactive', async () => {
    const role = { name: `Clerk ${uuidv7()}`, permission_keys: [] };
    const roleId = (await call('POST', '/roles', 201, role)).json().data.id;
    const items = await bulk([
      { email: address(), is_active: false, role_id: roleId },
      { email: address(), is_active: true },
      { email: address() },
    ]);
    const said = await Promise.all(items.map(async ({ id }) => (await detail(id)).is_active));
    expect(said).toEqual([false, true, true]);
    expect((await detail(items[0]?.id ?? null)).roles).toMatchObject([{ id: roleId }]);
    const told = await rowsOf(
      api,
      `select from events where action = 'identity.deactivated' and resource_id = any($1)`,
      [items.map(({ id }) => id)],
    );
    expect(told).toHaveLength(1);
  });

  test('a person who returns is signed in nowhere: what was under way while they were removed ends', async () => {
    const { accountId, environmentId } = account.scope;
    const email = address();
    const { id } = (await call('POST', '/identities', 201, { email })).json().data;
    const elsewhere = { url: account.portalPath('/identities', 'production'), headers: await account.as('admin') };
    await send(api.app, 201, { method: 'POST', ...elsewhere, payload: { email } });
    await send(api.app, 204, { method: 'DELETE', url: `/api/v1/identities/${id}`, headers: key });
    // As if a sign-in had waited for the removal.
    await rowsOf(
      api,
      `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
       values ($1::uuid, $2, $3, $4, sha256($1::text::bytea), now(), '{pwd}', 'urn:gatehouse:aal1', now(), now() + interval '1 day')`,
      [uuidv7(), accountId, environmentId, id],
    );
    expect(await bulk([{ email }])).toMatchObject([{ status: 'created', id }]);
    expect(await rowsOf(api, 'select from sessions where identity_id = $1 and revoked_at is null', [id])).toEqual([]);
  });

  test('roles are assigned by the usual rules: a refused one does not prevent the others', async () => {
    const own = await newAccount(api);
    const headers = await own.apiKey();
    const role = async (name: string, ...keys: string[]) =>
      (await call('POST', '/roles', 201, { name, permission_keys: keys }, headers)).json().data.id;
    await role('Clerk', 'identity.manage', 'identity.view', 'rbac.assign_roles');
    const [may, mayNot] = [await role('Seer', 'identity.view'), await role('Keeper', 'api_key.manage')];
    const clerk = await newIdentityCaller(api, own, [{ role: 'Clerk' }]);
    const wanted = [may, mayNot, may, null].map((roleId) => ({ email: address(), role_id: roleId }));
    const items = await bulk(wanted, clerk.headers);
    expect(statuses(items)).toEqual(['created', 'role.cannot_grant', 'created', 'created']);
    const narrow = await own.apiKey(['identity.manage']);
    const refused = await bulk([{ email: address(), role_id: may }, { email: address() }], narrow);
    expect(statuses(refused)).toEqual(['api_key.scope_required', 'created']);
    const denials = await rowsOf<{ resource_id: string }>(
      api,
      `select resource_id from events where account_id = $1 and action = 'auth.access_denied' and outcome = 'denied'`,
      [own.scope.accountId],
    );
    expect(denials).toEqual(Array(2).fill({ resource_id: 'createIdentities' }));
    const foreign = await newAccount(api);
    const theirs = (
      await call('POST', '/roles', 201, { name: 'Theirs', permission_keys: [] }, await foreign.apiKey())
    ).json().data.id;
    expect(statuses(await bulk([{ email: address(), role_id: theirs }], headers))).toEqual(['role.not_found']);
  });
});

describe('a request', () => {
  test('that is malformed as a whole is refused, and so is one without the permission', async () => {
    const outcome = async (payload: object, headers = key) =>
      outcomeOf(await api.app.inject({ method: 'POST', url: '/api/v1/identities/bulk', headers, payload }));
    const invalid = '400 validation.failed';
    const one = { email: address() };
    expect(await outcome({})).toBe(invalid);
    expect(await outcome([])).toBe(invalid);
    expect(await outcome({ identities: [] })).toBe(invalid);
    expect(await outcome({ identities: {} })).toBe(invalid);
    expect(await outcome({ identities: [one], more: 1 })).toBe(invalid);
    expect(await outcome({ identities: Array(1001).fill(one) })).toBe(invalid);
    const passwords = Array.from({ length: 51 }, () => ({ email: address(), password: 'violet tractor 19' }));
    expect(await outcome({ identities: passwords })).toBe(invalid);
    expect(await outcome({ identities: [one] }, {})).toBe('401');
    expect(await outcome({ identities: [one] }, await account.apiKey(['identity.view']))).toBe(
      '403 api_key.scope_required',
    );
    expect(await outcome({ identities: ['x'.repeat(8 * 1024 * 1024)] })).toBe('413 body.too_large');
    expect(await outcome({ identities: ['x'.repeat(7 * 1024 * 1024)] })).toBe('200');
  });

  test('that is sent again with its key gets the first answer, also many at once', async () => {
    const before = await total();
    const identities = [{ email: address() }, { email: 'no address' }, { email: address() }];
    const headers = { ...key, 'idempotency-key': uuidv7() };
    const first = await bulk(identities, headers);
    const again = await call('POST', '/identities/bulk', 200, { identities }, headers);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.json().items).toEqual(first);
    expect(statuses(first)).toEqual(['created', 'validation.failed', 'created']);
    expect(await total()).toBe(before + 2);
  });

  test('for the same people many times at once, in whatever order, creates each once', async () => {
    const before = await total();
    const identities = Array.from({ length: 40 }, () => ({ email: address(), external_id: uuidv7() }));
    const all = await Promise.all([
      ...[0, 1].map(() => bulk(identities)),
      ...[0, 1].map(() => bulk(identities.toReversed()).then((items) => items.toReversed())),
    ]);
    for (const i of identities.keys()) {
      expect(all.map((items) => items[i]?.status).sort()).toEqual(['created', 'exists', 'exists', 'exists']);
      expect(new Set(all.map((items) => items[i]?.id)).size).toBe(1);
    }
    expect(await total()).toBe(before + 40);
  });

  test('for a thousand people with hashes and roles takes few statements', async () => {
    const own = await newAccount(api);
    const headers = await own.apiKey();
    const roleId = (await call('POST', '/roles', 201, { name: 'Clerk', permission_keys: [] }, headers)).json().data.id;
    const hash = await bcrypt.hash('imported secret', 4);
    const identities = Array.from({ length: 1000 }, () => ({
      email: address(),
      first_name: 'Ana',
      password_hash: hash,
      role_id: roleId,
    }));
    const count = countStatements();
    const items = await bulk(identities, headers);
    expect(statuses(items)).toEqual(Array(1000).fill('created'));
    expect(count.stop()).toBeLessThan(40);
    expect(await total(headers)).toBe(1000);
    const repeated = await bulk(identities, headers);
    expect(statuses(repeated)).toEqual(Array(1000).fill('exists'));
    expect(await total(headers)).toBe(1000);
  });
});

/** Counts the statements that the api sends to PostgreSQL in transactions. */
function countStatements() {
  const { logger } = api.database.db.source;
  const { logQuery } = logger;
  let count = 0;
  logger.logQuery = () => void count++;
  return {
    stop() {
      logger.logQuery = logQuery;
      return count;
    },
  };
}

describe('an imported hash', () => {
  const secret = 'imported secret';
  let clientId: string;
  beforeAll(async () => {
    const url = account.portalPath('/oauth-clients');
    const payload = { name: 'Shop', client_type: 'public', redirect_uris: ['https://shop.example/cb'] };
    clientId = (await send(api.app, 201, { method: 'POST', url, headers: await account.as('owner'), payload })).json()
      .data.client_id;
  });
  const login = (email: string, password: string) =>
    api.app.inject({
      method: 'POST',
      url: '/v1/identity/auth/login',
      payload: { client_id: clientId, email, password },
    });
  const hashOf = async (id: string): Promise<string> =>
    (await rowsOf<{ hash: string }>(api, 'select password_hash as hash from identities where id = $1', [id]))[0]
      ?.hash as string;
  const imported = async (hash: string) => {
    const email = address();
    const [item] = await bulk([{ email, email_verified: true, password_hash: hash }]);
    expect(item?.status).toBe('created');
    return { email, id: item?.id as string };
  };
  const hosted = async (email: string, password: string, more: Record<string, string> = {}) => {
    const browser = new Browser(api.app);
    const { challenge } = newPkce();
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: 'https://shop.example/cb',
      response_type: 'code',
      scope: 'openid',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...more,
    });
    return browser.submit(await browser.get(`/oauth/authorize?${query}`), { email, password });
  };
  /** Waits for the new hash, which is written after the answer. */
  const untilOurs = async (id: string, before: string) => {
    const deadline = Date.now() + patience;
    for (let hash = before; ; hash = await hashOf(id)) {
      if (hash !== before) return expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      if (Date.now() > deadline) throw new Error('the hash was not replaced');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  test('lets in a person with the password and nobody else, and is replaced at that sign-in', async () => {
    const hash = await bcrypt.hash(secret, 6);
    const { email, id } = await imported(hash.replace('$2b$', '$2y$'));
    expect(await hashOf(id)).toBe(hash.replace('$2b$', '$2y$'));
    expect((await login(email, 'another secret')).statusCode).toBe(401);
    expect(await hashOf(id)).toBe(hash.replace('$2b$', '$2y$'));
    expect((await login(email, secret)).statusCode).toBe(200);
    await untilOurs(id, hash.replace('$2b$', '$2y$'));
    expect((await login(email, secret)).statusCode).toBe(200);
    expect((await login(email, 'another secret')).statusCode).toBe(401);
    const changedAt = (await call('GET', `/identities/${id}/auth-state`, 200)).json().data.password_changed_at;
    expect(new Date(changedAt).getTime()).toBeLessThanOrEqual(api.clock.now.getTime()); // this does not count as a change of password
  });

  test('of each algorithm does so on the pages too, and where a fresh sign-in is required', async () => {
    const salt = 'c29tZXNhbHQ';
    const bare = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
    const hashes = [
      await argon2.hash(secret, { type: argon2.argon2i, memoryCost: 4096, timeCost: 3 }),
      `$pbkdf2-sha256$i=1000$${salt}$${bare(pbkdf2Sync(secret, 'somesalt', 1000, 32, 'sha256'))}`,
      `$scrypt$ln=10,r=8,p=1$${salt}$${bare(scryptSync(secret, 'somesalt', 32, { N: 1024, r: 8, p: 1 }))}`,
    ];
    for (const [i, hash] of hashes.entries()) {
      const { email, id } = await imported(hash);
      const more: Record<string, string> = i === 0 ? {} : { prompt: 'login', max_age: '0' };
      const refused = await hosted(email, 'another secret', more);
      expect([refused.statusCode, await hashOf(id)]).toEqual([200, hash]);
      const { statusCode, headers } = await hosted(email, secret, more);
      expect([statusCode, headers.location]).toEqual([303, expect.stringContaining('code=')]);
      await untilOurs(id, hash);
    }
  });

  test('that would cost too much is refused with the limit, and the others are created', async () => {
    const of = (password_hash: string) => ({ email: address(), password_hash });
    const items = await bulk([
      of(`$argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHQ$${'A'.repeat(43)}`),
      of(`$scrypt$ln=24,r=8,p=1$c29tZXNhbHQ$${'A'.repeat(43)}`),
      of(`$pbkdf2-sha512$i=900000000$c29tZXNhbHQ$${'A'.repeat(86)}`),
      of(`$2b$31$${'a'.repeat(53)}`),
      of(`$2b$10$${'a'.repeat(53)}`),
    ]);
    expect(statuses(items)).toEqual([...Array(4).fill('password.hash_out_of_bounds'), 'created']);
    expect(limits(items)).toEqual(['argon2_memory', 'scrypt_work', 'pbkdf2_iterations', 'bcrypt_cost', null]);
    expect(items[3]?.error?.details?.[0]).toMatchObject({
      field: 'identities[3].password_hash',
      message: expect.stringMatching('4 to 14'),
    });
  });

  test('is accepted by the bulk operation alone', async () => {
    const payload = { email: address(), password_hash: await bcrypt.hash(secret, 4) };
    await call('POST', '/identities', 400, payload);
  });

  test('plain passwords are hashed as ours', async () => {
    const email = address();
    const [item] = await bulk([{ email, email_verified: true, password: 'violet tractor 19' }]);
    expect(await hashOf(item?.id as string)).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect((await login(email, 'violet tractor 19')).statusCode).toBe(200);
  });
});

test('too much load refuses the request and not an entry: a retry with the same key would get that answer again', async () => {
  const { hash } = createHashing({ atOnce: 1, maxWaiting: 1 });
  const earlier = [hash('one that runs'), hash('one that waits')];
  const { assignments, db } = api.services;
  const passwords = { hash, assertAcceptable: async () => {} };
  const sealing = createSealing([{ id: 'test', key: randomBytes(32) }]);
  const create = createBulkIdentities({ db, sealing, passwords, assignments, now: () => new Date() });
  const entry = { email: address(), emailVerified: true, password: 'violet tractor 19', passwordHash: null };
  const caller = { type: 'api_key', apiKeyId: uuidv7(), name: 'Import', accessMode: 'full', scopes: [] } as const;
  const creating = create(account.scope, caller, [{ ...entry, apps: [], roleId: null, nodeId: null }]);
  await expect(creating).rejects.toMatchObject({ code: 'service.unavailable' });
  await Promise.all(earlier);
});
