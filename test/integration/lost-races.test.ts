import { startApi, type TestApi } from '../support/api.js';
import { kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import { comingUpon } from '../support/uncommitted.js';
import { outcomeOf } from './portal-setup.js';

/** What a request has looked up goes before it is written down: it is answered as if it had come a moment later. */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

const make = (kind: keyof typeof kinds, of?: string) => kinds[kind].make(place, of);
const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, body: object, version?: number) =>
  outcomeOf(
    await api.app.inject({
      method,
      url,
      headers: { ...(url.startsWith('/api') ? place.headers.key : place.headers.owner), 'if-match': String(version) },
      payload: body,
    }),
  );
const inAccount = (url: string) => `/portal/v1/accounts/${place.account.accountSlug}${url}`;
const inEnvironment = (url: string) => place.account.portalPath(url, place.environmentSlug);
const whenGone = (table: string, id: string, other: () => Promise<string>) =>
  comingUpon(api.database, (tx) => tx.query(`delete from ${table} where id = $1`, [id]), other);
const provider = { type: 'saml', name: 'Provider' };

describe('a role that is deleted meanwhile is not found', () => {
  test('by who maps a group to it', async () => {
    const [first, then] = [await make('role'), await make('role')];
    const mapping = { environment_id: place.scope.environmentId, scim_group: 'Doctors' };
    const create = () => send('POST', inAccount('/scim/group-mappings'), { ...mapping, role_id: first });
    expect(await whenGone('roles', first, create)).toBe('404 role.not_found');
    const id = await make('scimGroupMapping');
    const update = () => send('PATCH', inAccount(`/scim/group-mappings/${id}`), { role_id: then });
    expect(await whenGone('roles', then, update)).toBe('404 role.not_found');
  });

  test('by who has a connection give it to everybody', async () => {
    const [first, then] = [await make('role'), await make('role')];
    const create = () => send('POST', inEnvironment('/sso-connections'), { ...provider, default_role_id: first });
    expect(await whenGone('roles', first, create)).toBe('404 role.not_found');
    const path = `/api/v1/organizations/${await make('connectedOrganization')}/sso-connection`;
    const update = () => send('PATCH', path, { default_role_id: then });
    expect(await whenGone('roles', then, update)).toBe('404 role.not_found');
  });
});

test('an organization that is deleted meanwhile is not found by who makes its directory a token, or maps its groups', async () => {
  const [first, then] = [await make('organization'), await make('organization')];
  const token = { name: 'HR', environment_id: place.scope.environmentId, organization_id: first };
  const create = () => send('POST', inAccount('/scim/tokens'), token);
  expect(await whenGone('nodes', first, create)).toBe('404 organization.not_found');
  const role = await make('role');
  const mapping = { environment_id: place.scope.environmentId, organization_id: then, scim_group: 'A', role_id: role };
  const map = () => send('POST', inAccount('/scim/group-mappings'), mapping);
  expect(await whenGone('nodes', then, map)).toMatch(/^404 (organization.not_found|nodes.node_not_found)$/);
});

test('a permission that is removed meanwhile is unknown to who has a role hold it', async () => {
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
