import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newIdentityCaller } from '../support/identity-caller.js';
import { callsWith } from './nodes-setup.js';
import { callsOf, outcomeOf, rowsOf } from './portal-setup.js';
import {
  anAddress,
  heldBy,
  make,
  newDirectory,
  newGroup,
  newUser,
  operations,
  type ScimCall,
  scimOutcome,
  verified,
} from './scim-setup.js';

let api: TestApi;
let account: TestAccount;
let key: ReturnType<typeof callsWith>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

const newOrganization = async (name: string) => (await make(api, account, '/organizations', { name })).id;
const set = (call: ScimCall, id: string, path: string, value: unknown) =>
  call('PATCH', `/Users/${id}`, operations({ op: 'replace', path, value }));
const isLetIn = async (identityId: string) =>
  (
    await rowsOf<{ is: boolean }>(api, 'select is_active as is from environment_memberships where identity_id = $1', [
      identityId,
    ])
  )[0]?.is;
const isMember = async (organizationId: string, identityId: string) =>
  (
    await rowsOf(api, 'select from organization_members where organization_id = $1 and identity_id = $2', [
      organizationId,
      identityId,
    ])
  ).length === 1;
const nameOf = async (identityId: string) =>
  (await rowsOf(api, 'select first_name, last_name from identities where id = $1', [identityId]))[0];

test('its own person who is no member of the organization any more is kept out all the same, once that is said', async () => {
  const organization = await newOrganization('Left');
  const own = await newDirectory(api, account, organization);
  const person = await newIdentityCaller(api, account, [], anAddress(await verified(api, account, organization)));
  const me = async () => (await api.app.inject({ url: '/v1/identity/auth/me', headers: person.headers })).statusCode;
  expect((await own('POST', '/Users', { userName: person.email })).statusCode).toBe(201);
  expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${person.id}`))).toBe('204');
  // Inactive for the directory, which has not said it: another change is nothing of that.
  const titled = await set(own, person.id, 'title', 'Engineer');
  expect(titled.json()).toMatchObject({ title: 'Engineer', active: false });
  expect([await me(), await isLetIn(person.id)]).toEqual([200, true]);
  expect((await set(own, person.id, 'active', false)).json()).toMatchObject({ active: false });
  expect([await me(), await isLetIn(person.id)]).toEqual([401, false]);
  expect((await set(own, person.id, 'active', true)).json()).toMatchObject({ active: true });
  expect([await isLetIn(person.id), await isMember(organization, person.id)]).toEqual([true, true]);
});

test('keeping somebody out of the organization only is a change with its time', async () => {
  const [organization, other] = [await newOrganization('Timed'), await newOrganization('Timed elsewhere')];
  const own = await newDirectory(api, account, organization);
  const { id } = await newUser(own);
  await make(api, account, `/organizations/${other}/members`, { identity_id: id });
  const before = (await own('GET', `/Users/${id}`)).json().meta.lastModified;
  api.clock.advance(60_000);
  for (const active of [false, true]) {
    const at = api.clock.now.toISOString();
    expect((await set(own, id, 'active', active)).json()).toMatchObject({ active, meta: { lastModified: at } });
    const since = encodeURIComponent(`meta.lastModified gt "${before}"`);
    expect((await own('GET', `/Users?filter=${since}`)).json()).toMatchObject({ totalResults: 1 });
    api.clock.advance(60_000);
  }
});

test('who is known keeps the names that a directory says nothing of', async () => {
  const call = await newDirectory(api, account, null);
  const email = anAddress(await verified(api, account));
  const there = { email, firstName: 'Ana', lastName: 'Berg', emailVerified: true, password: null };
  const { identity } = await api.services.identities.create(account.productionScope, there);
  const created = await call('POST', '/Users', { userName: email, name: { givenName: 'Anna' } });
  expect(created.json()).toMatchObject({ id: identity.id, name: { givenName: 'Anna', familyName: 'Berg' } });
  expect(await nameOf(identity.id)).toEqual({ first_name: 'Anna', last_name: 'Berg' });
});
