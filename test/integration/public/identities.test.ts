import { v7 as uuidv7 } from 'uuid';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { holdRoles, newIdentityCaller } from '../../support/identity-caller.js';
import { patience } from '../../support/patience.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let support: Record<string, string>;
let viewer: Record<string, string>;
let roleId: string;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  support = await account.as('support');
  viewer = await account.as('viewer');
  const role = { name: 'Clerk', permission_keys: ['identity.view'] };
  roleId = (await call('POST', '/roles', 201, role)).json().data.id;
});
afterAll(() => api.stop());

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
const call = (method: Method, path: string, status: number, payload?: object, headers = key) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) });
const inPortal = (method: Method, path: string, status: number, payload?: object, headers = support) =>
  send(api.app, status, { method, url: account.portalPath(path), headers, ...(payload && { payload }) });
const address = () => `${uuidv7()}@example.com`;
const create = async (body: object = {}, headers = key): Promise<string> =>
  (await call('POST', '/identities', 201, { email: address(), ...body }, headers)).json().data.id;
const detail = async (id: string) => (await call('GET', `/identities/${id}`, 200)).json().data;
const actionsOf = async (id: string) =>
  (await rowsOf<{ action: string }>(api, 'select action from events where resource_id = $1 order by id', [id])).map(
    ({ action }) => action,
  );
const newNode = async (): Promise<string> =>
  (await call('POST', '/nodes', 201, { node_type: 'unit', name: 'A unit' })).json().data.id;
const total = async (headers = key) =>
  (await call('GET', '/identities?take=1', 200, undefined, headers)).json().pagination.item_count;

describe('reading', () => {
  test('an identity has its profile, its roles and what the caller may do with it', async () => {
    const ana = { first_name: 'Ana', last_name: 'Berg', metadata: { plan: 'gold' }, role_id: roleId };
    const created = (await call('POST', '/identities', 201, { email: address(), ...ana })).json().data;
    const { id } = created;
    const path = `/identities/${id}/detail`;
    const { data } = (await call('GET', path, 200)).json();
    expect(data).toMatchObject({
      id,
      first_name: 'Ana',
      name: 'Ana Berg',
      metadata: { plan: 'gold' },
      email_verified: false,
      is_active: true,
      can_manage: true,
      avatar_url: null,
      external_id: null,
      roles: [{ id: roleId, name: 'Clerk', effective_from: null, effective_to: null }],
    });
    expect(created).toEqual(data); // creating one requires no permission to read it
    expect((await call('GET', `/identities/${id}`, 200)).json().data).toEqual(data);
    expect((await inPortal('GET', path, 200)).json().data).toEqual(data);
    expect((await inPortal('GET', path, 200, undefined, viewer)).json().data.can_manage).toBe(false);
    const narrow = await account.apiKey(['identity.view']);
    expect((await call('GET', path, 200, undefined, narrow)).json().data.can_manage).toBe(false);
    const clerk = await newIdentityCaller(api, account, [{ role: 'Clerk' }]);
    expect((await call('GET', path, 200, undefined, clerk.headers)).json().data.can_manage).toBe(false);
  });

  test('a person with an external id is found by that, and by nothing like it', async () => {
    const externalId = `crm/7 % "${uuidv7()}`;
    const ana = await create({ external_id: externalId });
    await create({ external_id: `${externalId}8` });
    const found = async (query: Record<string, string>, headers?: Record<string, string>) => {
      const { items, pagination } = (
        await call('GET', `/identities?${new URLSearchParams(query)}`, 200, undefined, headers)
      ).json();
      expect(pagination.item_count).toBe(items.length);
      return items.map(({ id }: { id: string }) => id);
    };
    expect(await found({ external_id: externalId })).toEqual([ana]);
    expect(await found({ external_id: externalId, status: 'inactive' })).toEqual([]);
    expect(await found({ external_id: externalId.toUpperCase() })).toEqual([]);
    expect(await found({ external_id: externalId }, await (await newAccount(api)).apiKey())).toEqual([]);
    const url = account.portalPath(`/identities?${new URLSearchParams({ external_id: externalId })}`, 'production');
    expect((await send(api.app, 200, { url, headers: await account.as('owner') })).json().items).toEqual([]);
    await call('GET', '/identities?external_id=', 400);
  });

  test('a person is found by exactly their address, however it is typed, and nobody by a part of it', async () => {
    const email = address();
    const ana = await create({ email, is_active: false });
    await create({ email: `di${email}` });
    const found = async (query: Record<string, string>, headers?: Record<string, string>) => {
      const path = `/identities?${new URLSearchParams(query)}`;
      const { items, pagination } = (await call('GET', path, 200, undefined, headers)).json();
      expect(pagination.item_count).toBe(items.length);
      return items.map(({ id }: { id: string }) => id);
    };
    for (const typed of [email, email.toUpperCase()]) expect(await found({ email: typed })).toEqual([ana]);
    expect(await found({ email, status: 'active' })).toEqual([]);
    expect(await found({ email, external_id: 'another' })).toEqual([]);
    for (const nobody of [email.slice(1), '%@example.com', 'no address'])
      expect(await found({ email: nobody })).toEqual([]);
    expect(await found({ email }, await (await newAccount(api)).apiKey())).toEqual([]);
    const url = account.portalPath(`/identities?${new URLSearchParams({ email })}`, 'production');
    expect((await send(api.app, 200, { url, headers: await account.as('owner') })).json().items).toEqual([]);
  });

  test('an identity’s organizations are listed, by name or by when it joined, inactive ones too, and nobody else’s', async () => {
    const own = await newAccount(api);
    const server = await own.apiKey();
    const asked = (method: Method, path: string, status: number, payload?: object) =>
      call(method, path, status, payload, server);
    const [ana, ben] = [await create({}, server), await create({}, server)];
    const names = ['Zinc', 'Acme', 'Iron'];
    const ids: string[] = [];
    for (const name of names) {
      const { id } = (await asked('POST', '/organizations', 201, { name })).json().data;
      await asked('POST', `/organizations/${id}/members`, 201, { identity_id: ana });
      ids.push(id);
    }
    const { version } = (await asked('GET', `/nodes/${ids[1]}`, 200)).json().data;
    const change = { method: 'PATCH', url: `/api/v1/nodes/${ids[1]}`, payload: { status: 'inactive' } } as const;
    await send(api.app, 200, { ...change, headers: { ...server, 'if-match': String(version) } });
    const listed = async (query = '', of = ana) =>
      (await asked('GET', `/identities/${of}/organizations${query}`, 200)).json();
    expect((await listed('?order=asc')).items).toMatchObject(names.map((name, i) => ({ id: ids[i], name })));
    expect((await listed('?sort_by=name&order=asc')).items[0]).toEqual({
      id: ids[1],
      name: 'Acme',
      slug: 'acme',
      status: 'inactive',
      joined_at: expect.any(String),
    });
    const second = await listed('?sort_by=slug&order=asc&take=2&page=2');
    expect(second).toMatchObject({ items: [{ name: 'Zinc' }], pagination: { item_count: 3, page_count: 2 } });
    expect((await listed('?q=ir')).items).toMatchObject([{ name: 'Iron' }]);
    expect((await listed('', ben)).items).toEqual([]);
    const path = `/identities/${ana}/organizations`;
    expect((await call('GET', path, 404)).json().error.code).toBe('identity.not_found');
    await call('GET', path, 403, undefined, await own.apiKey(['webhook.view']));
  });

  test('lists with roles are filtered by role, by none, by status and by text', async () => {
    const own = await newAccount(api);
    const headers = await own.apiKey();
    const get = async (query: string) =>
      (await call('GET', `/identities/with-roles?order=asc&${query}`, 200, undefined, headers)).json();
    const ids = async (query: string) => (await get(query)).items.map(({ id }: { id: string }) => id);
    const role = { name: 'Clerk', permission_keys: [] };
    const clerk = (await call('POST', '/roles', 201, role, headers)).json().data.id;
    const ana = await create({ first_name: 'Ana', last_name: 'Berg', role_id: clerk }, headers);
    const ben = await create({ first_name: 'Ben', last_name: '50%_off\\' }, headers);
    const all = await get('');
    expect(all.items.map(({ id, name }: { id: string; name: string }) => [id, name])).toEqual([
      [ana, 'Ana Berg'],
      [ben, 'Ben 50%_off\\'],
    ]);
    expect(all.items[0].roles).toMatchObject([{ id: clerk, name: 'Clerk' }]);
    expect(all.items[1].roles).toEqual([]);
    expect(all.pagination.item_count).toBe(2);
    expect(await ids(`role_id=${clerk}`)).toEqual([ana]);
    expect(await ids('role_id=no_assignment')).toEqual([ben]);
    expect(await ids(`role_id=${uuidv7()}`)).toEqual([]);
    expect(await ids('status=active')).toEqual([ana, ben]);
    expect(await ids('status=inactive')).toEqual([]);
    for (const [q, found] of Object.entries({
      'aNA b': [ana],
      '%_off\\': [ben],
      '%': [ben],
      zz: [],
      '@': [ana, ben],
    })) {
      expect([q, await ids(`q=${encodeURIComponent(q)}`)]).toEqual([q, found]);
    }
    await call('GET', '/identities/with-roles?role_id=x', 400);
  });

  test('a search of 20 000 identities uses the trigram index, also under row-level security', async () => {
    const own = await newAccount(api);
    const { accountId, environmentId } = own.scope;
    await rowsOf(
      api,
      `with made as (
         insert into identities (id, account_id, email, first_name, last_name, metadata, created_at, updated_at)
         select gen_random_uuid(), $1, 'p' || n || '@example.com', 'Ana' || n % 50, 'Berg' || n % 70, '{}', now(), now()
         from generate_series(1, 20000) n returning id)
       insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
       select gen_random_uuid(), $1, $2, id, true, now() from made`,
      [accountId, environmentId],
    );
    await rowsOf(api, 'analyze identities, environment_memberships');
    const scans = () =>
      rowsOf<{ scans: string }>(
        api,
        `select pg_stat_force_next_flush(), idx_scan as scans from pg_stat_user_indexes where indexrelname = 'identities_text_trigrams'`,
      );
    const before = Number((await scans())[0]?.scans);
    const { items } = (await call('GET', '/identities?q=p19999@', 200, undefined, await own.apiKey())).json();
    expect(items).toMatchObject([{ email: 'p19999@example.com' }]);
    // PostgreSQL's sessions report their statistics only every few seconds.
    const deadline = Date.now() + patience;
    while (Number((await scans())[0]?.scans) <= before) {
      if (Date.now() > deadline) throw new Error('the index was not read');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
});

describe('creating', () => {
  test('a refused role leaves no identity behind', async () => {
    const before = await total();
    const email = address();
    const attempt = (body: object, headers = key) =>
      api.app.inject({ method: 'POST', url: '/api/v1/identities', headers, payload: { email, ...body } });
    expect(outcomeOf(await attempt({ role_id: uuidv7() }))).toBe('404 role.not_found');
    expect(outcomeOf(await attempt({ role_id: roleId, node_id: uuidv7() }))).toBe('404 nodes.node_not_found');
    expect(outcomeOf(await attempt({ node_id: uuidv7() }))).toBe('400 validation.failed');
    const managing = await account.apiKey(['identity.manage']);
    expect(outcomeOf(await attempt({ role_id: roleId }, managing))).toBe('403 api_key.scope_required');
    const assigning = await account.apiKey(['identity.manage', 'rbac.assign_roles']);
    expect(outcomeOf(await attempt({ role_id: roleId }, assigning))).toBe('403 role.cannot_grant');
    expect(await total()).toBe(before);
    expect(outcomeOf(await attempt({ role_id: roleId }))).toBe('201');
    expect(await total()).toBe(before + 1);
  });

  test('of many that are created and removed at once, each existing one is counted once', async () => {
    const before = await total();
    const gone = await Promise.all(Array.from({ length: 4 }, () => create()));
    const [email, externalId] = [address(), uuidv7()];
    const post = (body: object) =>
      api.app.inject({
        method: 'POST',
        url: '/api/v1/identities',
        headers: key,
        payload: { email: address(), ...body },
      });
    const answers = await Promise.all([
      ...Array.from({ length: 24 }, (_, i) => post(i % 3 === 0 ? { role_id: roleId } : {})),
      ...Array.from({ length: 5 }, () => post({ email })),
      ...Array.from({ length: 5 }, () => post({ external_id: externalId })),
      ...gone.map((id) => api.app.inject({ method: 'DELETE', url: `/api/v1/identities/${id}`, headers: key })),
    ]);
    expect(outcomesOf(answers)).toEqual({
      '201': 26,
      '204': 4,
      '409 identity.email_taken': 4,
      '409 identity.external_id_taken': 4,
    });
    expect(await total()).toBe(before + 26);
    const [counted] = await rowsOf<{ members: number; events: number }>(
      api,
      `select (select count(*)::int from environment_memberships where environment_id = $1) as members,
         (select count(*) filter (where action = 'identity.created')::int - count(*) filter (where action = 'identity.deleted')::int
          from events where environment_id = $1) as events`,
      [account.scope.environmentId],
    );
    expect(counted?.members).toBe(before + 26);
    expect((await call('GET', '/identities/summary', 200)).json().data.total).toBe(before + 26);
  });

  test('an inactive person is kept out from the beginning, and counted as such', async () => {
    const own = await newAccount(api);
    const server = await own.apiKey();
    const { data } = (
      await call('POST', '/identities', 201, { email: address(), is_active: false, role_id: null }, server)
    ).json();
    expect(data.is_active).toBe(false);
    await create({ is_active: true }, server);
    expect((await call('GET', '/identities?status=inactive', 200, undefined, server)).json()).toMatchObject({
      items: [{ id: data.id, is_active: false }],
      pagination: { item_count: 1 },
    });
    expect(await actionsOf(data.id)).toEqual(['identity.created', 'identity.deactivated']);
    await call('POST', `/identities/${data.id}/activate`, 200, undefined, server);
    expect((await call('GET', '/identities?status=inactive', 200, undefined, server)).json().items).toEqual([]);
  });

  test('a person in the directory joins unchanged, also when requested twice at once', async () => {
    const email = address();
    const elsewhere = await api.services.identities.create(account.productionScope, {
      email,
      firstName: 'Ida',
      lastName: null,
      avatarUrl: null,
      externalId: null,
      metadata: {},
      emailVerified: false,
      password: null,
    });
    const before = await total();
    const post = () =>
      api.app.inject({
        method: 'POST',
        url: '/api/v1/identities',
        headers: key,
        payload: { email, first_name: 'Eve' },
      });
    const answers = await Promise.all([post(), post()]);
    expect(outcomesOf(answers)).toEqual({ '201': 1, '409 identity.email_taken': 1 });
    const made = answers.find(({ statusCode }) => statusCode === 201)?.json().data;
    expect(made).toMatchObject({ id: elsewhere.identity.id, first_name: 'Ida' });
    expect(await total()).toBe(before + 1);
  });

  test('metadata over 16 KiB is refused', async () => {
    await call('POST', '/identities', 400, { email: address(), metadata: { a: 'x'.repeat(17_000) } });
  });
});

describe('changing', () => {
  test('changes the fields that are sent, null empties them, and the others stay', async () => {
    const id = await create({ first_name: 'Ana', last_name: 'Berg', external_id: uuidv7(), email_verified: true });
    const path = `/identities/${id}`;
    const changed = (await call('PATCH', path, 200, { first_name: ' Anna ', external_id: null })).json().data;
    expect(changed).toMatchObject({
      first_name: 'Anna',
      last_name: 'Berg',
      external_id: null,
      email_verified: true,
    });
    expect(await actionsOf(id)).toEqual(['identity.created', 'identity.updated']);
    await call('PATCH', path, 200, { first_name: 'Anna' });
    expect(await actionsOf(id)).toHaveLength(2);
    expect((await inPortal('PATCH', path, 200, { metadata: { a: 1 } })).json().data.metadata).toEqual({ a: 1 });
    for (const bad of [{ email: 'x' }, { email: null }, { unknown: 1 }, { first_name: '' }, { metadata: [] }]) {
      await call('PATCH', path, 400, bad);
    }
    await call('PATCH', path, 400, { metadata: { a: 'x'.repeat(17_000) } });
  });

  test('an address beyond the limits of RFC 5321 is refused, and a person who has one from before is read and changed otherwise', async () => {
    const outOfBounds = [`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(64)}.example`, 'a@1.2.3.4'];
    const id = await create();
    for (const email of outOfBounds) {
      const answers = [
        await call('POST', '/identities', 400, { email }),
        await call('PATCH', `/identities/${id}`, 400, { email }),
        await call('POST', '/identity-invites', 400, { email, intent: 'activate' }),
      ];
      for (const answer of answers)
        expect(answer.json().error.details).toEqual([expect.objectContaining({ field: 'email', code: 'format' })]);
      const items = (await call('POST', '/identities/bulk', 200, { identities: [{ email }] })).json().items;
      expect(items).toMatchObject([
        { status: 'failed', error: { details: [{ field: 'identities[0].email', code: 'format' }] } },
      ]);
      await rowsOf(api, 'update identities set email = $2 where id = $1', [id, email]);
      expect((await call('GET', `/identities/${id}`, 200)).json().data.email).toBe(email);
      expect((await call('PATCH', `/identities/${id}`, 200, { last_name: email[0] })).json().data.email).toBe(email);
    }
  });

  test('another address is unverified unless said, and a taken one is refused', async () => {
    const [other, mine] = [address(), address()];
    await create({ email: other });
    const path = `/identities/${await create({ email: mine, email_verified: true })}`;
    const attempt = await call('PATCH', path, 409, { email: other.toUpperCase() });
    expect(attempt.json().error.code).toBe('identity.email_taken');
    expect((await call('PATCH', path, 200, { email: mine.toUpperCase() })).json().data).toMatchObject({
      email: mine.toUpperCase(),
      email_verified: true,
    });
    expect((await call('PATCH', path, 200, { email: address() })).json().data.email_verified).toBe(false);
    const said = { email: address(), email_verified: true };
    expect((await call('PATCH', path, 200, said)).json().data.email_verified).toBe(true);
    const external = uuidv7();
    await create({ external_id: external });
    const taken = await call('PATCH', path, 409, { external_id: external });
    expect(taken.json().error.code).toBe('identity.external_id_taken');
  });

  test('exactly one of several parallel changes to one address is made', async () => {
    const email = address();
    const ids = await Promise.all(Array.from({ length: 5 }, () => create()));
    const answers = await Promise.all(
      ids.map((id) =>
        api.app.inject({ method: 'PATCH', url: `/api/v1/identities/${id}`, headers: key, payload: { email } }),
      ),
    );
    expect(outcomesOf(answers)).toEqual({ '200': 1, '409 identity.email_taken': 4 });
  });
});

describe('removing', () => {
  test('ends membership, sessions and roles at once; a member of another environment stays there', async () => {
    const ida = await newIdentityCaller(api, account, [{ role: 'Clerk' }]);
    await api.services.identities.create(account.productionScope, {
      email: ida.email,
      emailVerified: false,
      password: null,
    });
    await rowsOf(
      api,
      `insert into consents (identity_id, oauth_client_id, account_id, environment_id, scope, created_at, updated_at)
       select $1, id, account_id, environment_id, '{openid}', now(), now() from oauth_clients where client_id = $2`,
      [ida.id, ida.clientId],
    );
    const untilLater = { role_id: roleId, effective_from: '2090-01-01T00:00:00Z', node_id: await newNode() };
    await call('POST', `/identities/${ida.id}/role-assignments`, 201, untilLater);
    const before = await total();
    await call('GET', '/identities', 200, undefined, ida.headers);
    await call('DELETE', `/identities/${ida.id}`, 204);
    await call('GET', '/identities', 401, undefined, ida.headers);
    await call('GET', `/identities/${ida.id}`, 404);
    await call('DELETE', `/identities/${ida.id}`, 404);
    expect(await total()).toBe(before - 1);
    await api.services.identities.get(account.productionScope, ida.id);
    expect(await rowsOf(api, 'select 1 from erasures where identity_id = $1', [ida.id])).toEqual([]);
    expect(await rowsOf(api, 'select 1 from consents where identity_id = $1', [ida.id])).toEqual([]);
    const left = 'select 1 from role_assignments where identity_id = $1 and removed_at is null';
    expect(await rowsOf(api, left, [ida.id])).toEqual([]);
    const windows =
      'select w.status from role_assignment_windows w join role_assignments a using (id) where identity_id = $1';
    expect(await rowsOf(api, windows, [ida.id])).toEqual([{ status: 'removed' }]);
    // A person who returns starts with nothing.
    await call('POST', '/identities', 201, { email: ida.email });
    expect((await detail(ida.id)).roles).toEqual([]);
    await call('GET', '/identities', 401, undefined, ida.headers);
  });

  test('a person without a membership is erased, and the address is taken until then', async () => {
    const email = address();
    const id = await create({ email });
    await inPortal('DELETE', `/identities/${id}`, 204);
    expect(await rowsOf(api, 'select status from erasures where identity_id = $1', [id])).toEqual([
      { status: 'running' },
    ]);
    expect(await actionsOf(id)).toEqual(['identity.created', 'identity.deleted', 'identity.erasure_requested']);
    const again = { method: 'POST', url: '/api/v1/identities', payload: { email } } as const;
    const headers = { ...key, 'idempotency-key': uuidv7() };
    const refused = await api.app.inject({ ...again, headers });
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([409, '1']);
    expect(refused.json().error).toMatchObject({
      code: 'identity.email_taken',
      details: [{ field: 'email', code: 'being_deleted' }],
    });
    // A client that retries, as it is told, uses the same key.
    await rowsOf(api, 'delete from identities where id = $1', [id]);
    expect(outcomeOf(await api.app.inject({ ...again, headers }))).toBe('201');
    const taken = await call('POST', '/identities', 409, { email });
    expect([taken.headers['retry-after'], taken.json().error.details]).toEqual([undefined, undefined]);
  });

  test('one of parallel removals counts, and a retry gets the same answer', async () => {
    const id = await create();
    const before = await total();
    const remove = (headers: Record<string, string>) =>
      api.app.inject({ method: 'DELETE', url: `/api/v1/identities/${id}`, headers });
    const answers = await Promise.all(Array.from({ length: 4 }, () => remove(key)));
    expect(outcomesOf(answers)).toEqual({ '204': 1, '404 identity.not_found': 3 });
    expect(await total()).toBe(before - 1);
    const path = `/api/v1/identities/${await create()}`;
    const once = { method: 'DELETE', url: path, headers: { ...key, 'idempotency-key': uuidv7() } } as const;
    await send(api.app, 204, once);
    await send(api.app, 204, once);
  });
});

describe('permissions', () => {
  const writes = [
    ['PATCH', ''],
    ['DELETE', ''],
  ] as const;
  const reads = [
    ['GET', ''],
    ['GET', '/detail'],
  ] as const;

  test.each([...reads, ...writes])('%s /identities/{id}%s', async (method, path) => {
    const url = `/identities/${await create()}${path}`;
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    await call(method, url, 401, body, {});
    const isRead = method === 'GET';
    const narrow = await account.apiKey([isRead ? 'hierarchy.view' : 'identity.view']);
    expect(outcomeOf(await call(method, url, 403, body, narrow))).toBe('403 api_key.scope_required');
    const nobody = await newIdentityCaller(api, account);
    expect(outcomeOf(await call(method, url, 403, body, nobody.headers))).toBe('403 permission.required');
    if (!isRead) {
      expect(outcomeOf(await inPortal(method, url, 403, body, viewer))).toBe('403 account.capability_required');
    }
    const neighbour = await (await newAccount(api)).apiKey();
    expect(outcomeOf(await call(method, url, 404, body, neighbour))).toBe('404 identity.not_found');
    // A person of the same Account who is only in another Environment.
    const { identity } = await api.services.identities.create(account.productionScope, {
      email: address(),
      firstName: null,
      lastName: null,
      emailVerified: false,
      password: null,
    });
    expect(outcomeOf(await call(method, `/identities/${identity.id}${path}`, 404, body))).toBe(
      '404 identity.not_found',
    );
  });
});

test('roles that are assigned otherwise are shown too', async () => {
  const id = await create();
  await holdRoles(api, account.scope, id, [{ role: 'Clerk' }]);
  expect((await detail(id)).roles).toMatchObject([{ name: 'Clerk' }]);
});
