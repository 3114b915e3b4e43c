import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { signInTo } from '../../support/identity-invites.js';
import { callsWith } from '../../support/nodes.js';
import { newPublicClient } from '../../support/public-client.js';
import { rowsOf } from '../../support/rows.js';
import {
  anAddress,
  heldBy,
  make,
  newDirectory,
  newGroup,
  newUser,
  operations,
  type ScimCall,
  scimOf,
  scimOutcome,
  verified,
} from '../../support/scim.js';

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

test('an address that the owner of its domain gives a person is more than claimed', async () => {
  const organization = await newOrganization('Vouching');
  const domain = await verified(api, account, organization);
  const own = await newDirectory(api, account, organization);
  const standingOf = (id: string) =>
    rowsOf(
      api,
      'select email_verified_at is not null as verified, verified_by_word as said from identities where id = $1',
      [id],
    );
  const user = await newUser(own, { userName: anAddress(domain) });
  expect(await standingOf(user.id)).toEqual([{ verified: true, said: false }]);
  expect((await set(own, user.id, 'userName', anAddress(domain))).statusCode).toBe(200);
  expect(await standingOf(user.id)).toEqual([{ verified: true, said: false }]);
  // What a key had claimed before stays only claimed by another address of the domain.
  await rowsOf(api, 'update identities set verified_by_word = true where id = $1', [user.id]);
  expect((await set(own, user.id, 'userName', anAddress(domain))).statusCode).toBe(200);
  expect(await standingOf(user.id)).toEqual([{ verified: true, said: true }]);
});

test('a person who enters production by its directory brings nothing of a time when their address was only claimed', async () => {
  const domain = await verified(api, account);
  const { environmentId } = account.productionScope;
  const made = await callsOf(api, account.accountSlug, await account.as('owner'))('POST', '/scim/tokens', {
    name: 'Directory',
    environment_id: environmentId,
  });
  const directory = scimOf(api, made.json().data.token);
  const { clientId } = await newPublicClient(api, account.productionScope);
  const [said, shown] = [
    await newIdentityCaller(api, account, [], anAddress(domain)),
    await newIdentityCaller(api, account, [], anAddress(domain)),
  ];
  await rowsOf(api, 'update identities set verified_by_word = false where id = $1', [shown.id]);
  for (const { email } of [said, shown])
    expect((await directory('POST', '/Users', { userName: email })).statusCode).toBe(201);
  // The caller who created them for tests knows the password.
  expect(await signInTo(api, clientId, said.email, said.password)).toBe('401');
  expect(await signInTo(api, clientId, shown.email, shown.password)).toBe('200');
  const standing =
    'select email_verified_at is not null as verified, verified_by_word as said from identities where id = $1';
  expect(await rowsOf(api, standing, [said.id])).toEqual([{ verified: true, said: false }]);
});

test('an organization keeps out its own person who is no member any more, once its directory says so', async () => {
  const organization = await newOrganization('Left');
  const own = await newDirectory(api, account, organization);
  const person = await newIdentityCaller(api, account, [], anAddress(await verified(api, account, organization)));
  const me = async () => (await api.app.inject({ url: '/v1/identity/auth/me', headers: person.headers })).statusCode;
  expect((await own('POST', '/Users', { userName: person.email })).statusCode).toBe(201);
  expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${person.id}`))).toBe('204');
  // The directory sees them as inactive without having said so: an unrelated change does not make them so.
  const titled = await set(own, person.id, 'title', 'Engineer');
  expect(titled.json()).toMatchObject({ title: 'Engineer', active: false });
  expect([await me(), await isLetIn(person.id)]).toEqual([200, true]);
  expect((await set(own, person.id, 'active', false)).json()).toMatchObject({ active: false });
  expect([await me(), await isLetIn(person.id)]).toEqual([401, false]);
  expect((await set(own, person.id, 'active', true)).json()).toMatchObject({ active: true });
  expect([await isLetIn(person.id), await isMember(organization, person.id)]).toEqual([true, true]);
});

test('a person who has left the organization is still its directory’s, which is told so when it creates them', async () => {
  const organization = await newOrganization('Left behind');
  const own = await newDirectory(api, account, organization);
  const userName = anAddress(await verified(api, account, organization));
  const { id } = await newUser(own, { userName });
  expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${id}`))).toBe('204');
  const again = await own('POST', '/Users', { userName: anAddress(), emails: [{ value: userName, primary: true }] });
  expect([scimOutcome(again), again.json().detail]).toEqual([
    '409 uniqueness',
    'There is already a user with this email address',
  ]);
});

test('keeping a person out of the organization only is a change with its time', async () => {
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

test('a known person keeps names that the directory does not send', async () => {
  const call = await newDirectory(api, account, null);
  const email = anAddress(await verified(api, account));
  const there = { email, firstName: 'Ana', lastName: 'Berg', emailVerified: true, password: null };
  const { identity } = await api.services.identities.create(account.productionScope, there);
  const created = await call('POST', '/Users', { userName: email, name: { givenName: 'Anna' } });
  expect(created.json()).toMatchObject({ id: identity.id, name: { givenName: 'Anna', familyName: 'Berg' } });
  expect(await nameOf(identity.id)).toEqual({ first_name: 'Anna', last_name: 'Berg' });
});

describe('a person whose domain another organization has verified', () => {
  let [a, b, domain] = ['', '', ''];
  let [ofA, ofB] = [] as unknown as [ScimCall, ScimCall];
  beforeAll(async () => {
    [a, b] = [await newOrganization('A'), await newOrganization('B')];
    domain = await verified(api, account, b);
    [ofA, ofB] = [await newDirectory(api, account, a), await newDirectory(api, account, b)];
  });
  const provider = async (id: string) =>
    (await rowsOf<{ at: string }>(api, 'select directory_id as at from scim_users where identity_id = $1', [id]))[0]
      ?.at;
  /** Creates a person by directory A while nobody had verified the domain, which B has by now. */
  const guest = async (more: object = {}) => {
    const free = `${crypto.randomUUID()}.example`;
    const user = await newUser(ofA, { userName: anAddress(free), ...more });
    await verified(api, account, b, free);
    return user;
  };

  test('cannot be created by another directory, which does not learn whether they exist; nor can it give anybody their address', async () => {
    const { id } = await newUser(ofA);
    const theirs = await newUser(ofB, { userName: anAddress(domain) });
    const ofEnvironment = await newDirectory(api, account);
    for (const userName of [anAddress(domain), theirs.userName])
      expect(scimOutcome(await ofA('POST', '/Users', { userName, active: false }))).toBe('409 uniqueness');
    // The Account's own directory creates them, and the organization's takes them over.
    const made = anAddress(domain);
    expect(scimOutcome(await ofEnvironment('POST', '/Users', { userName: made, active: false }))).toBe('201');
    expect(scimOutcome(await ofEnvironment('POST', '/Users', { userName: theirs.userName }))).toBe('409 uniqueness');
    const { body } = await ofA('POST', '/Users', { userName: anAddress(domain) });
    expect((await ofA('POST', '/Users', { userName: theirs.userName })).body).toBe(body);
    expect((await set(ofA, id, 'userName', anAddress(domain))).statusCode).toBe(403);
    const own = await verified(api, account, null, domain).then(() =>
      newUser(ofEnvironment, { userName: anAddress(domain) }),
    );
    expect(await provider(own.id)).toBe(account.scope.environmentId);
    await rowsOf(api, 'delete from sso_domains where domain = $1 and organization_id is null', [domain]);
  });

  test('nor by an organization for which only the account vouches', async () => {
    const accounts = await verified(api, account);
    expect(scimOutcome(await ofA('POST', '/Users', { userName: anAddress(accounts) }))).toBe('409 uniqueness');
  });

  test('is taken over by the directory of that organization: roles from the other directory’s groups end, and so does its suspension', async () => {
    const role = (await make(api, account, '/roles', { name: 'Guests', permission_keys: ['hierarchy.view'] })).id;
    const portal = callsOf(api, account.accountSlug, await account.as('owner'));
    const mapping = {
      environment_id: account.scope.environmentId,
      organization_id: a,
      scim_group: 'Guests',
      role_id: role,
    };
    expect(outcomeOf(await portal('POST', '/scim/group-mappings', mapping))).toBe('201');
    const free = `${crypto.randomUUID()}.example`;
    const [bob, eve] = [
      await newUser(ofA, { userName: anAddress(free) }),
      await newUser(ofA, { userName: anAddress(free), active: false }),
    ];
    const group = await newGroup(ofA, 'Guests', bob.id, eve.id);
    expect([await heldBy(api, bob.id), await isLetIn(eve.id)]).toEqual([[`${role} ${a}`], false]);
    expect(scimOutcome(await ofB('POST', '/Users', { userName: bob.userName }))).toBe('409 uniqueness');
    await verified(api, account, b, free);
    const taken = await ofB('POST', '/Users', { userName: bob.userName, name: { givenName: 'Bob' } });
    expect(taken.json()).toMatchObject({ id: bob.id, active: true, name: { givenName: 'Bob' } });
    expect([await provider(bob.id), await heldBy(api, bob.id)]).toEqual([b, []]);
    expect((await ofA('GET', `/Groups/${group}`)).json().members).toEqual([expect.objectContaining({ value: eve.id })]);
    // Also by changing a person who is a member there already.
    await make(api, account, `/organizations/${b}/members`, { identity_id: eve.id });
    expect((await set(ofB, eve.id, 'title', 'Engineer')).json()).toMatchObject({ active: true, title: 'Engineer' });
    expect([await provider(eve.id), await isLetIn(eve.id)]).toEqual([b, true]);
    expect((await ofA('GET', `/Groups/${group}`)).json()).not.toHaveProperty('members');
    expect((await set(ofA, eve.id, 'title', 'Guest')).statusCode).toBe(403);
    const events = await rowsOf(
      api,
      `select metadata->>'organization_id' as of from events where resource_id = $1 and action = 'scim_user.unlinked'`,
      [eve.id],
    );
    expect(events).toEqual([{ of: a }]);
  });

  test('of two that take over from each other at once, each gets its own', async () => {
    const [domainA, domainB] = [`${crypto.randomUUID()}.example`, `${crypto.randomUUID()}.example`];
    const names = (of: string) => Array.from({ length: 4 }, () => anAddress(of));
    const [ours, theirs] = [names(domainA), names(domainB)];
    for (const userName of ours) await newUser(ofB, { userName });
    for (const userName of theirs) await newUser(ofA, { userName });
    await verified(api, account, a, domainA);
    await verified(api, account, b, domainB);
    const takes = [
      ...ours.map((userName) => ofA('POST', '/Users', { userName })),
      ...theirs.map((userName) => ofB('POST', '/Users', { userName })),
    ];
    expect((await Promise.all(takes)).map(scimOutcome)).toEqual(takes.map(() => '201'));
  });

  test('can still be removed from the other organization by its directory, which cannot rename them or keep them out of the environment', async () => {
    const person = await newIdentityCaller(api, account, [], anAddress());
    const { id, userName } = await guest({ name: { givenName: 'Bob' } });
    await rowsOf(api, 'update sessions set identity_id = $2 where identity_id = $1', [person.id, id]);
    const sessions = () =>
      rowsOf(api, 'select from sessions where identity_id = $1 and revoked_at is null', [id]).then(
        ({ length }) => length,
      );
    expect(await sessions()).toBe(1);
    expect((await set(ofA, id, 'name.givenName', 'Mallory')).statusCode).toBe(403);
    expect(await nameOf(id)).toMatchObject({ first_name: 'Bob' });
    expect((await set(ofA, id, 'title', 'Guest')).statusCode).toBe(200);
    expect((await set(ofA, id, 'active', false)).json()).toMatchObject({ active: false, userName });
    expect([await isMember(a, id), await isLetIn(id), await sessions()]).toEqual([false, true, 1]);
    // Joining again starts from nothing.
    expect((await set(ofA, id, 'active', true)).statusCode).toBe(403);
    expect((await ofA('DELETE', `/Users/${id}`)).statusCode).toBe(204);
    expect([await isLetIn(id), await sessions()]).toEqual([true, 1]);
  });

  test('is its directory’s own again at another address, which counts in the request that moves them', async () => {
    const { id } = await guest();
    const to = (value: string, active: boolean) =>
      ofA(
        'PATCH',
        `/Users/${id}`,
        operations({ op: 'replace', path: 'userName', value }, { op: 'replace', path: 'active', value: active }),
      );
    expect((await to(anAddress(), false)).json()).toMatchObject({ active: false });
    expect(await isLetIn(id)).toBe(false);
    const left = await guest();
    expect(outcomeOf(await key('DELETE', `/organizations/${a}/members/${left.id}`))).toBe('204');
    const back = await ofA(
      'PATCH',
      `/Users/${left.id}`,
      operations({ op: 'replace', value: { userName: anAddress(), active: true } }),
    );
    expect([back.statusCode, await isMember(a, left.id)]).toEqual([200, true]);
  });

  test('who is in another organization, too, is not renamed by one that has not verified the domain', async () => {
    const { id } = await newUser(ofA, { name: { givenName: 'Ana' } });
    expect((await set(ofA, id, 'name.givenName', 'Anna')).statusCode).toBe(200);
    await make(api, account, `/organizations/${b}/members`, { identity_id: id });
    expect((await set(ofA, id, 'name.givenName', 'Ana')).statusCode).toBe(403);
    expect((await set(ofA, id, 'title', 'Guest')).statusCode).toBe(200);
  });
});

describe('a person with another name elsewhere, which the directory may not change', () => {
  /** Creates a person as Jane by one organization's directory, known to another organization as Janet. */
  async function renamed(name: string) {
    const [own, other] = [await newOrganization(name), await newOrganization(`${name} too`)];
    const call = await newDirectory(api, account, own);
    const jane = { givenName: 'Jane', familyName: 'Doe' };
    const user = await newUser(call, { userName: anAddress(), name: jane });
    expect((await key('POST', `/organizations/${other}/members`, { identity_id: user.id })).statusCode).toBe(201);
    expect((await key('PATCH', `/identities/${user.id}`, { first_name: 'Janet' })).statusCode).toBe(200);
    const put = (more: object) => call('PUT', `/Users/${user.id}`, { userName: user.userName, name: jane, ...more });
    return { own, other, call, user, put };
  }
  const known = { givenName: 'Janet', familyName: 'Doe' };

  test('is deactivated by a PUT with another name, none, or another address, and keeps both', async () => {
    for (const [i, more] of [{}, { name: undefined }, { userName: anAddress(), emails: undefined }].entries()) {
      const { own, other, user, put } = await renamed(`Leaving ${i}`);
      const left = await put({ active: false, ...more });
      expect([left.statusCode, left.json().active, left.json().name]).toMatchObject([200, false, known]);
      expect([await isMember(own, user.id), await isMember(other, user.id)]).toEqual([false, true]);
      const [row] = await rowsOf<{ email: string }>(api, 'select email from identities where id = $1', [user.id]);
      expect(row?.email).toBe(user.userName);
    }
  });

  test('is changed by a PUT, except for the name; a PATCH of the name is refused', async () => {
    const { call, user, put } = await renamed('Written');
    const written = await put({ title: 'Engineer', active: true });
    expect([written.statusCode, written.json().title, written.json().name]).toMatchObject([200, 'Engineer', known]);
    expect((await set(call, user.id, 'name.givenName', 'Jane')).statusCode).toBe(403);
    const replaced = operations({ op: 'replace', value: { 'name.givenName': 'Jane', active: false } });
    expect((await call('PATCH', `/Users/${user.id}`, replaced)).json()).toMatchObject({ active: false, name: known });
  });
});

test('a person is not renamed by a directory that did not create them, once the domain is not its own', async () => {
  const organization = await newOrganization('Lapsed');
  const own = await newDirectory(api, account, organization);
  const domain = await verified(api, account, organization);
  const { id } = await make(api, account, '/identities', { email: anAddress(domain), first_name: 'Ana' });
  await make(api, account, `/organizations/${organization}/members`, { identity_id: id });
  expect((await set(own, id, 'name.givenName', 'Anna')).statusCode).toBe(200);
  await rowsOf(api, 'delete from sso_domains where domain = $1', [domain]);
  expect((await set(own, id, 'name.givenName', 'Ana')).statusCode).toBe(403);
  expect((await set(own, id, 'active', false)).statusCode).toBe(200);
  expect([await isMember(organization, id), await isLetIn(id)]).toEqual([false, true]);
});

test('a person is not changed by a test directory once they joined production, unless the domain is its own', async () => {
  const call = await newDirectory(api, account);
  const domain = `${crypto.randomUUID()}.example`;
  const user = await newUser(call, { userName: anAddress(domain), name: { givenName: 'Jane' } });
  expect((await set(call, user.id, 'name.givenName', 'Joan')).statusCode).toBe(200);
  const there = { email: user.userName, emailVerified: true, password: null };
  await api.services.identities.create(account.productionScope, there);
  expect((await set(call, user.id, 'name.givenName', 'Eve')).statusCode).toBe(403);
  expect(await nameOf(user.id)).toMatchObject({ first_name: 'Joan' });
  expect((await set(call, user.id, 'title', 'Tester')).statusCode).toBe(200);
  expect((await set(call, user.id, 'active', false)).json()).toMatchObject({ active: false });
  await verified(api, account, null, domain);
  expect((await set(call, user.id, 'name.givenName', 'Jane')).statusCode).toBe(200);
});

describe('a person whom a directory has deactivated and then deleted', () => {
  let [organization, domain] = ['', ''];
  let own: ScimCall;
  beforeAll(async () => {
    organization = await newOrganization('Rehiring');
    domain = await verified(api, account, organization);
    own = await newDirectory(api, account, organization);
  });
  const gone = async () => {
    const email = anAddress(domain);
    const { id } = await make(api, account, '/identities', { email });
    await make(api, account, `/organizations/${organization}/members`, { identity_id: id });
    expect((await set(own, id, 'active', false)).statusCode).toBe(200);
    expect((await own('DELETE', `/Users/${id}`)).statusCode).toBe(204);
    // Leaving lets nobody in.
    expect(await isLetIn(id)).toBe(false);
    return { id, email };
  };
  const again = (userName: string, call = own) => call('POST', '/Users', { userName, active: true });

  test('is let in again by it', async () => {
    const { id, email } = await gone();
    expect((await again(email)).json()).toMatchObject({ id, active: true });
    expect(await isLetIn(id)).toBe(true);
  });

  test('is let in by nobody else, nor by it once the application has kept them out', async () => {
    const { id, email } = await gone();
    expect(outcomeOf(await key('POST', `/identities/${id}/deactivate`))).toBe('200');
    expect((await again(email)).statusCode).toBe(403);
    expect(await isLetIn(id)).toBe(false);
  });

  test('is let in by the organization that has their domain by now', async () => {
    const { id, email } = await gone();
    const next = await newOrganization('Acquirer');
    const ofNext = await newDirectory(api, account, next);
    const own = domain;
    await rowsOf(api, 'update sso_domains set organization_id = $2 where domain = $1', [own, next]);
    expect((await again(email, ofNext)).json()).toMatchObject({ id, active: true });
    await rowsOf(api, 'update sso_domains set organization_id = $2 where domain = $1', [own, organization]);
  });

  test('is let in by it also if the organization whose directory had deactivated them was deleted', async () => {
    const [former, next] = [await newOrganization('Insolvent'), await newOrganization('Successor')];
    const domain = await verified(api, account, former);
    const ofFormer = await newDirectory(api, account, former);
    const { id, userName } = await newUser(ofFormer, { userName: anAddress(domain) });
    expect((await set(ofFormer, id, 'active', false)).statusCode).toBe(200);
    const { version } = (await key('GET', `/organizations/${former}`)).json().data;
    expect(outcomeOf(await key('DELETE', `/organizations/${former}`, undefined, version))).toBe('204');
    expect(await isLetIn(id)).toBe(false);
    await verified(api, account, next, domain);
    const ofNext = await newDirectory(api, account, next);
    expect((await again(userName, ofNext)).json()).toMatchObject({ id, active: true });
    expect(await isLetIn(id)).toBe(true);
  });
});
