import type { EntityManager } from 'typeorm';
import { newMember, type TestMember } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { startApi, type TestApi } from '../support/api.js';
import { counted, interleaved } from '../support/interleaving.js';
import { kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import { newDirectory } from '../support/scim.js';
import { comingUpon } from '../support/uncommitted.js';

/** What a request has looked up is deleted before it writes: its answer is that of a request a moment later. */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

const make = (kind: keyof typeof kinds, of?: string) => kinds[kind].make(place, of);
const send = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, body?: object, version?: number) =>
  outcomeOf(
    await api.app.inject({
      method,
      url,
      headers: {
        ...(url.startsWith('/api') ? place.headers.key : place.headers.owner),
        ...(version !== undefined && { 'if-match': String(version) }),
      },
      ...(body && { payload: body }),
    }),
  );
const inAccount = (url: string) => `/portal/v1/accounts/${place.account.accountSlug}${url}`;
const inEnvironment = (url: string) => place.account.portalPath(url, place.environmentSlug);
const whenGone = (table: string, id: string, other: () => Promise<string>) =>
  comingUpon(api.database, (tx) => tx.query(`delete from ${table} where id = $1`, [id]), other);
const own = async ({ headers }: TestMember, url: string) =>
  outcomeOf(await api.app.inject({ method: 'DELETE', url, headers }));
const provider = { type: 'saml', name: 'Provider' };

describe('a role that is deleted meanwhile is not found', () => {
  test('by a caller who maps a group to it', async () => {
    const [first, then] = [await make('role'), await make('role')];
    const mapping = { environment_id: place.scope.environmentId, scim_group: 'Doctors' };
    const create = () => send('POST', inAccount('/scim/group-mappings'), { ...mapping, role_id: first });
    expect(await whenGone('roles', first, create)).toBe('404 role.not_found');
    const id = await make('scimGroupMapping');
    const update = () => send('PATCH', inAccount(`/scim/group-mappings/${id}`), { role_id: then });
    expect(await whenGone('roles', then, update)).toBe('404 role.not_found');
  });

  test('by a caller who makes a connection assign it to everybody', async () => {
    const [first, then] = [await make('role'), await make('role')];
    const create = () => send('POST', inEnvironment('/sso-connections'), { ...provider, default_role_id: first });
    expect(await whenGone('roles', first, create)).toBe('404 role.not_found');
    const path = `/api/v1/organizations/${await make('connectedOrganization')}/sso-connection`;
    const update = () => send('PATCH', path, { default_role_id: then });
    expect(await whenGone('roles', then, update)).toBe('404 role.not_found');
  });
});

test('an organization that is deleted meanwhile is not found by a caller who creates a directory token for it, or maps its groups', async () => {
  const [first, then] = [await make('organization'), await make('organization')];
  const token = { name: 'HR', environment_id: place.scope.environmentId, organization_id: first };
  const create = () => send('POST', inAccount('/scim/tokens'), token);
  expect(await whenGone('nodes', first, create)).toBe('404 organization.not_found');
  const role = await make('role');
  const mapping = { environment_id: place.scope.environmentId, organization_id: then, scim_group: 'A', role_id: role };
  const map = () => send('POST', inAccount('/scim/group-mappings'), mapping);
  expect(await whenGone('nodes', then, map)).toMatch(/^404 (organization.not_found|nodes.node_not_found)$/);
});

test('a token that is created while its organization is deleted is revoked with it, or not created', async () => {
  const setUp = async () => {
    const organization = await make('organization');
    const token = { name: 'HR', environment_id: place.scope.environmentId, organization_id: organization };
    return {
      create: () => send('POST', inAccount('/scim/tokens'), token),
      remove: () => send('DELETE', `/api/v1/organizations/${organization}`, undefined, 1),
      told: () =>
        place.rows<{ action: string }>(
          "select action from events where metadata->>'organization_id' = $1 and action like 'scim_token.%' order by created_at, id",
          [organization],
        ),
    };
  };
  const alone = await setUp();
  const { statements } = await counted(alone.create);
  const came = new Set<string>();
  for (let at = 1; at <= statements; at++) {
    const { create, remove, told } = await setUp();
    const [made, removed] = await interleaved(api.database.ownerUrl, at, create, remove);
    came.add(made);
    const expected = made === '201' ? ['scim_token.created', 'scim_token.revoked'] : [];
    expect([at, removed, (await told()).map(({ action }) => action)]).toEqual([at, '204', expected]);
  }
  expect([...came].sort()).toEqual(['201', '404 organization.not_found']);
});

test('a group that is created while its organization is deleted has its deletion event, or is not created', async () => {
  const setUp = async () => {
    const organization = await make('organization');
    const directory = await newDirectory(api, place.account, organization);
    return {
      create: async () => (await directory('POST', '/Groups', { displayName: 'Staff' })).statusCode,
      remove: () => send('DELETE', `/api/v1/organizations/${organization}`, undefined, 1),
      told: () =>
        place.rows<{ action: string }>(
          "select action from events where metadata->>'organization_id' = $1 and action like 'scim_group.%' order by created_at, id",
          [organization],
        ),
    };
  };
  const alone = await setUp();
  const { statements } = await counted(alone.create);
  const came = new Set<number>();
  for (let at = 1; at <= statements; at++) {
    const { create, remove, told } = await setUp();
    const [made, removed] = await interleaved(api.database.ownerUrl, at, create, remove);
    came.add(made);
    const expected = made === 201 ? ['scim_group.created', 'scim_group.deleted'] : [];
    expect([at, made, removed, (await told()).map(({ action }) => action)]).toEqual([at, made, '204', expected]);
  }
  expect([...came].sort()).toEqual([201, 401, 404]); // the token was deleted with it, or the organization after the token was checked
});

test('a permission that is removed meanwhile is unknown to a caller who adds it to a role', async () => {
  const newPermission = async () => {
    const id = await make('permission');
    const [row] = await place.rows<{ key: string }>('select key from permissions where id = $1', [id]);
    return { id, keys: { permission_keys: [row?.key] } };
  };
  const [first, then] = [await newPermission(), await newPermission()];
  const create = () => send('POST', '/api/v1/roles', { name: 'Clerk', ...first.keys });
  expect(await whenGone('permissions', first.id, create)).toBe('400 validation.failed');
  const role = await make('role');
  const put = () => send('PUT', `/api/v1/roles/${role}/permissions`, then.keys, 1);
  expect(await whenGone('permissions', then.id, put)).toBe('400 validation.failed');
});

/** The Environment's end ends each of these: one that was created meanwhile would survive. */
test.each([
  ['an API key', 'api_key.created', { inPlace: '/api-keys' }, () => ({ name: 'Late', access_mode: 'full' })],
  ['a webhook', 'webhook.created', { inPlace: '/webhooks' }, () => ({ url: 'https://a.example', event_types: ['*'] })],
  [
    'a SCIM token',
    'scim_token.created',
    { inAccount: '/scim/tokens' },
    ({ scope }: Place) => ({ name: 'Late', environment_id: scope.environmentId }),
  ],
  [
    'a mapping of groups',
    'scim_group_mapping.created',
    { inAccount: '/scim/group-mappings' },
    async (of: Place) => ({
      environment_id: of.scope.environmentId,
      scim_group: 'Late',
      role_id: await kinds.role.make(of),
    }),
  ],
] as const)(
  'making %s while its Environment is deleted, at any moment, finds none or comes first',
  async (_, action, path: { inPlace?: string; inAccount?: string }, bodyOf) => {
    const environment = async () => {
      const { development } = await newPlaces(api);
      const { account, headers } = development;
      const call = async (method: 'POST' | 'DELETE', url: string, payload?: object) =>
        outcomeOf(await api.app.inject({ method, url, headers: headers.owner, ...(payload && { payload }) }));
      const body = await bodyOf(development);
      const made = path.inPlace
        ? account.portalPath(path.inPlace)
        : `/portal/v1/accounts/${account.accountSlug}${path.inAccount}`;
      return {
        create: () => call('POST', made, body),
        remove: () => call('DELETE', `${account.portalPath('')}?confirm=development`),
        actions: () =>
          development.rows<{ action: string }>(
            'select action from events where environment_id = $1 and action in ($2, $3) order by created_at desc, id desc',
            [development.scope.environmentId, action, 'environment.deleted'],
          ),
      };
    };
    const alone = await environment();
    const { statements } = await counted(alone.create);
    const came = new Set<string>();
    for (let at = 1; at <= statements; at++) {
      const { create, remove, actions } = await environment();
      const [created, removed] = await interleaved(api.database.ownerUrl, at, create, remove);
      expect(removed).toBe('204');
      came.add(created);
      expect([at, (await actions())[0]]).toEqual([at, { action: 'environment.deleted' }]);
    }
    expect([...came].sort()).toEqual(['201', '404 environment.not_found']);
  },
);

describe('a completed change is answered as completed, whatever comes before the answer', () => {
  /** Stops a request before its last statement, and removes a person there. @returns the outcomes of both */
  async function removedAtTheEnd(
    make: () => Promise<string>,
    work: (id: string) => Promise<string>,
    remove: (id: string) => Promise<string>,
  ) {
    await work(await make()); // fills caches beforehand
    const alone = await make();
    const { statements } = await counted(() => work(alone));
    const id = await make();
    return interleaved(
      api.database.ownerUrl,
      statements,
      () => work(id),
      () => remove(id),
    );
  }

  test.each([
    ['is deactivated', 'POST', '/deactivate', {}],
    ['is changed', 'PATCH', '', { first_name: 'Eva', external_id: null }],
    ['has their password set', 'PUT', '/password', { password: 'violet tractor 19' }],
    ['has their password reset', 'POST', '/password/reset', {}],
    ['has their address verified', 'POST', '/email/verify', undefined],
    ['has their factors reset', 'POST', '/mfa/reset', undefined],
  ] as const)('of a person who %s and is deleted right after', async (_, method, path, body) => {
    await make('oauthClient'); // for a link to lead to
    const work = (id: string) => send(method, `/api/v1/identities/${id}${path}`, body);
    const remove = (id: string) => send('DELETE', `/api/v1/identities/${id}`);
    expect(await removedAtTheEnd(() => make('identity'), work, remove)).toEqual(['200', '204']);
  });

  test('for a person who is created and deleted right after', async () => {
    let count = 0;
    const anAddress = async () => `newcomer-${++count}@example.com`;
    const work = (email: string) => send('POST', '/api/v1/identities', { email });
    const remove = async (email: string) => {
      const [made] = await place.rows<{ id: string }>('select id from identities where email = $1', [email]);
      return made ? send('DELETE', `/api/v1/identities/${made.id}`) : 'not there yet';
    };
    expect((await removedAtTheEnd(anAddress, work, remove))[0]).toBe('201');
  });

  test('for an administrator whose factors are reset and who is removed right after', async () => {
    const work = (id: string) => send('POST', inAccount(`/members/${id}/mfa/reset`));
    const remove = (id: string) => send('DELETE', inAccount(`/members/${id}`));
    expect(await removedAtTheEnd(() => make('member'), work, remove)).toEqual(['200', '204']);
  });
});

test('the Account is not found by an administrator who leaves it meanwhile', async () => {
  const [role, invite, other] = [
    await make('administratorRole'),
    await make('administratorInvite'),
    await make('member'),
  ];
  const requests: ['POST' | 'PATCH' | 'DELETE', string, object?][] = [
    ['POST', `/administrator-invites/${invite}/resend`],
    ['PATCH', `/members/${other}`, { roles: [{ role_id: role }] }],
    ['DELETE', `/members/${other}`],
  ];
  for (const [method, path, body] of requests) {
    const leaver = await newMember(api, place.account, 'admin');
    const leave = async (tx: EntityManager) => {
      await tx.query('select from accounts where id = $1 for no key update', [place.scope.accountId]);
      await tx.query('delete from memberships where id = $1', [leaver.membershipId]);
    };
    const came = await comingUpon(api.database, leave, () => leaver.call(method, path, body));
    expect([path, outcomeOf(came)]).toEqual([path, '404 account.not_found']);
  }
});

describe('the last opened place is deleted with its person, and with the Application, whenever it is stored', () => {
  test.each([
    ['the member', (of: TestMember) => send('DELETE', inAccount(`/members/${of.membershipId}`))],
    ['their own sign-in', (of: TestMember) => own(of, '/v1/auth/me')],
    [
      'the Application',
      (_: TestMember, slug: string) => send('DELETE', inAccount(`/applications/${slug}?confirm=${slug}`)),
    ],
  ])('%s', async (_, remove) => {
    const somebody = async () => {
      const member = await newMember(api, place.account, 'developer');
      const slug = await make('applicationSlug');
      const store = (environment_slug: string) =>
        member.call('PUT', `/applications/${slug}/me/state`, { environment_slug }).then(outcomeOf);
      return { member, store, end: () => remove(member, slug) };
    };
    const alone = await somebody();
    const { statements } = await counted(() => alone.store('development'));
    for (const isAgain of [false, true])
      for (let at = 1; at <= statements; at++) {
        const { member, store, end } = await somebody();
        if (isAgain) await store('production');
        const came = await interleaved(api.database.ownerUrl, at, () => store('development'), end);
        const left = await place.rows('select from user_application_states where user_id = $1', [member.userId]);
        expect([at, came[1], left]).toEqual([at, '204', []]);
        expect(came[0]).toMatch(/^(200|401|404 (account|application).not_found)$/);
      }
  });
});
