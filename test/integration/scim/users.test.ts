import { jest } from '@jest/globals';
import { DomainError } from '../../../src/domain/errors.js';
import { days } from '../../../src/platform/clock.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, send } from '../../support/api.js';
import { credentialsOf, noCredentials, plantFactors } from '../../support/credentials.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { newPublicClient } from '../../support/public-client.js';
import { rowsOf } from '../../support/rows.js';
import {
  anAddress,
  make,
  newDirectory,
  newGroup,
  newToken,
  newUser,
  operations,
  type ScimCall,
  scimOf,
  scimOutcome,
  startDirectory,
  verified,
} from '../../support/scim.js';

const { api, account, call } = await startDirectory();
afterAll(() => api.stop());

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const eventsOf = async (id: string) =>
  (
    await rowsOf<{ action: string }>(
      api,
      `select action from events where resource_id = $1 and actor_type = 'scim_token' order by created_at, id`,
      [id],
    )
  ).map(({ action }) => action);

test('a client that sends a content type without content deletes all the same', async () => {
  const { token } = await newToken(api, account);
  const own = scimOf(api, token);
  const { id } = await newUser(own);
  const empty = (method: 'DELETE' | 'POST' | 'PUT' | 'PATCH', path: string) =>
    api.app.inject({
      method,
      url: `/scim/v2${path}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
      payload: '',
    });
  for (const [method, path] of [
    ['POST', '/Users'],
    ['POST', '/Groups'],
    ['POST', '/.search'],
    ['PUT', `/Users/${id}`],
    ['PATCH', `/Users/${id}`],
  ] as const)
    expect([method, path, scimOutcome(await empty(method, path))]).toEqual([method, path, '400 invalidSyntax']);
  expect((await empty('DELETE', `/Users/${id}`)).statusCode).toBe(204);
});

test('a token is shown once, records its last use, and stops at once when it is revoked or expired', async () => {
  const { id, token, token_preview } = await newToken(api, account);
  expect(token_preview).toBe(`ghscim_…${token.slice(-4)}`);
  const own = scimOf(api, token);
  expect((await own('GET', '/Users')).statusCode).toBe(200);
  const headers = await account.as('owner');
  const url = `/portal/v1/accounts/${account.accountSlug}/scim/tokens`;
  const listed = (await api.app.inject({ url, headers })).json().items.find((one: { id: string }) => one.id === id);
  expect(listed).toMatchObject({ last_used_at: expect.any(String), organization_id: null });
  expect(JSON.stringify(listed)).not.toContain(token);
  const read = () => api.app.inject({ url: `${url}/${id}`, headers });
  expect((await read()).json()).toEqual({ data: listed });
  const revoke = async () => outcomeOf(await api.app.inject({ method: 'DELETE', url: `${url}/${id}`, headers }));
  expect([await revoke(), await revoke()]).toEqual(['204', '404 scim_token.not_found']);
  expect(outcomeOf(await read())).toBe('404 scim_token.not_found');
  const refused = await own('GET', '/Users');
  expect(refused.statusCode).toBe(401);
  expect(refused.headers['content-type']).toContain('application/scim+json');
  expect(refused.json()).toMatchObject({ schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '401' });
  for (const other of ['', 'nothing', `ghscim_${'x'.repeat(43)}`])
    expect((await scimOf(api, other)('GET', '/Users')).statusCode).toBe(401);
  const { id: keyless } = await newUser(call);
  expect((await api.app.inject({ url: `/scim/v2/Users/${keyless}`, headers: await account.apiKey() })).statusCode).toBe(
    401,
  );
});

test('a token that has expired is refused', async () => {
  const expiresAt = new Date(api.clock.now.getTime() + days(1)).toISOString();
  const { secret } = await api.services.scimTokens.create(account.scope, {
    name: 'Short',
    environmentId: account.scope.environmentId,
    organizationId: null,
    expiresAt: new Date(expiresAt),
  });
  expect((await scimOf(api, secret)('GET', '/Users?count=0')).statusCode).toBe(200);
  const before = api.clock.now;
  api.clock.advance(days(1));
  expect((await scimOf(api, secret)('GET', '/Users?count=0')).statusCode).toBe(401);
  api.clock.now = before;
});

test('a user is an identity with the directory’s data, and its events name the token', async () => {
  const userName = anAddress();
  const sent = {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User', enterprise],
    userName,
    externalId: 'e-1',
    displayName: 'Ana K.',
    title: 'Engineer',
    password: 'ignored',
    name: { givenName: 'Ana', familyName: 'Kern', formatted: 'Ana Kern' },
    emails: [
      { value: userName, type: 'work', primary: true },
      { value: 'ana@home.example', type: 'home' },
    ],
    [enterprise]: { department: 'R&D', manager: { value: '26' } },
  };
  const answer = await call('POST', '/Users', sent);
  expect(answer.statusCode).toBe(201);
  const user = answer.json();
  const { password: _, ...kept } = sent;
  expect(user).toMatchObject({
    ...kept,
    active: true,
    meta: { resourceType: 'User', location: answer.headers.location },
  });
  expect(answer.headers.etag).toBe(user.meta.version);
  const identity = (
    await api.app.inject({ url: `/api/v1/identities/${user.id}`, headers: await account.apiKey() })
  ).json();
  expect(identity.data).toMatchObject({ email: userName, first_name: 'Ana', last_name: 'Kern', external_id: null });
  expect(await eventsOf(user.id)).toEqual(['identity.created', 'scim_user.linked']);
  const [stored] = await rowsOf(api, 'select password_hash from identities where id = $1', [user.id]);
  expect(stored).toEqual({ password_hash: null });
});

test('names are on one line, trimmed, and empty if nothing is visible', async () => {
  const namesOf = async (givenName: string, familyName: string) => {
    const user = await newUser(call, { name: { givenName, familyName } });
    const [row] = await rowsOf(api, 'select first_name, last_name from identities where id = $1', [user.id]);
    return [row, user.name];
  };
  expect(await namesOf('', '  ')).toEqual([{ first_name: null, last_name: null }, undefined]);
  expect(await namesOf(' Ann\nMarie ', 'de\tBoer')).toEqual([
    { first_name: 'Ann Marie', last_name: 'de Boer' },
    { givenName: 'Ann Marie', familyName: 'de Boer' },
  ]);
  const long = { userName: anAddress(), name: { givenName: '🙂'.repeat(201) } };
  expect(scimOutcome(await call('POST', '/Users', long))).toBe('400 invalidValue');
  expect((await namesOf('🙂'.repeat(200), 'x'))[0]).toMatchObject({ first_name: '🙂'.repeat(200) });
});

test('a taken name or address is refused as not unique, whatever its case', async () => {
  const { userName } = await newUser(call);
  for (const one of [
    { userName },
    { userName: userName.toUpperCase() },
    { userName: 'other', emails: [{ value: userName }] },
  ])
    expect(scimOutcome(await call('POST', '/Users', one))).toBe('409 uniqueness');
  const other = await newUser(call);
  const patch = operations({ op: 'replace', path: 'userName', value: userName });
  expect(scimOutcome(await call('PATCH', `/Users/${other.id}`, patch))).toBe('409 uniqueness');
});

test('ten creations of one user at once create one', async () => {
  const userName = anAddress();
  const answers = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/Users', { userName })));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, ...Array(9).fill(409)]);
});

test('PUT replaces, PATCH changes; with a stale version neither does', async () => {
  const user = await newUser(call, { name: { givenName: 'Ana', familyName: 'Kern' }, title: 'Engineer' });
  const at = `/Users/${user.id}`;
  const put = await call('PUT', at, { userName: user.userName, nickName: 'A' }, { 'if-match': user.meta.version });
  expect(put.statusCode).toBe(200);
  expect(put.json()).toMatchObject({ nickName: 'A', active: true });
  expect(put.json()).not.toHaveProperty('title');
  expect(put.json()).not.toHaveProperty('name');
  const stale = await call('PATCH', at, operations({ op: 'add', path: 'title', value: 'X' }), {
    'if-match': user.meta.version,
  });
  expect(stale.statusCode).toBe(412);
  const version = String(put.headers.etag);
  expect((await call('GET', at, undefined, { 'if-none-match': version })).statusCode).toBe(304);
  const patched = await call('PATCH', `${at}?attributes=title`, operations({ op: 'add', path: 'title', value: 'X' }), {
    'if-match': version,
  });
  expect(patched.json()).toEqual({ schemas: expect.any(Array), id: user.id, title: 'X' });
  const changed = `select metadata->'changed' as changed from events where resource_id = $1 and action = 'scim_user.updated'`;
  const attributes = { changed: ['attributes'] };
  expect(await rowsOf(api, changed, [user.id])).toEqual([attributes, attributes]);
});

test('a part that a PATCH sends as null is removed, and one that it does not send stays', async () => {
  const manager = { value: '26118915', displayName: 'Boss' };
  const user = await newUser(call, { name: { givenName: 'Ana', familyName: 'Kern' }, [enterprise]: { manager } });
  const after = async (value: object) =>
    (await call('PATCH', `/Users/${user.id}`, operations({ op: 'replace', value }))).json();
  expect((await after({ name: { GivenName: null } })).name).toEqual({ familyName: 'Kern' });
  expect((await after({ name: { familyName: null, middleName: 'M' } })).name).toEqual({ middleName: 'M' });
  expect(await after({ name: { middleName: null } })).not.toHaveProperty('name');
  expect((await after({ [enterprise]: { manager: manager.value } }))[enterprise]).toEqual({ manager });
  expect((await after({ [enterprise]: { manager: { displayName: null } } }))[enterprise]).toEqual({
    manager: { value: manager.value },
  });
  await after({ [enterprise]: { manager } });
  expect((await after({ [enterprise]: { manager: { value: null } } }))[enterprise]).toBeUndefined();
});

test('a part of one of several values that a PATCH sends as null is removed, and the others stay', async () => {
  const user = await newUser(call);
  const at = `/Users/${user.id}`;
  const main = { value: user.userName, type: 'work', primary: true };
  const other = { value: anAddress(), type: 'other', display: 'At home' };
  const address = { type: 'work', locality: 'Bonn', country: 'DE' };
  const [path, ofWork] = ['emails[type eq "other"]', 'addresses[type eq "work"]'];
  for (const op of ['add', 'replace']) {
    const whole = { userName: user.userName, emails: [{ ...main, display: 'Ana' }, other], addresses: [address] };
    expect(scimOutcome(await call('PUT', at, whole))).toBe('200');
    const after = async (path: string, value: object) =>
      (await call('PATCH', at, operations({ op, path, value }))).json();
    const shown = await after('emails[type eq "work"]', { display: null, primary: true });
    expect(shown.emails).toEqual([main, other]);
    expect((await after(ofWork, { Locality: null, country: 'DE' })).addresses).toEqual([
      { type: 'work', country: 'DE' },
    ]);
    expect((await after(path, { Display: null })).emails).toEqual([main, { value: other.value, type: 'other' }]);
    // As with the path of its value: an address without one is none.
    expect((await after(path, { value: null })).emails).toEqual([main]);
  }
});

test('a full name is deleted when a part of it changes, unless it is sent again', async () => {
  const user = await newUser(call, { name: { givenName: 'Ana', familyName: 'Kern', formatted: 'Dr. Ana Kern' } });
  const nameAfter = async (...changes: object[]) =>
    (await call('PATCH', `/Users/${user.id}`, operations(...changes))).json().name;
  const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });
  expect(await nameAfter(replace('title', 'Engineer'), replace('name.givenName', 'Ana'))).toEqual(user.name);
  expect(await nameAfter(replace('name.familyName', 'Berg'))).toEqual({ givenName: 'Ana', familyName: 'Berg' });
  const said = { givenName: 'Ana', familyName: 'Kern', formatted: 'Kern, Ana' };
  expect(await nameAfter(replace('name', said))).toEqual(said);
  expect(await nameAfter(replace('name.givenName', 'Mia'), replace('name.formatted', 'Kern, Ana'))).toEqual({
    ...said,
    givenName: 'Mia',
  });
  expect(await nameAfter(replace('name', { familyName: 'Berg', formatted: 'Berg' }))).toMatchObject({
    formatted: 'Berg',
  });
});

test('an address beyond the limits is refused, and a person with one from before is changed and deactivated with it', async () => {
  const user = await newUser(call, { emails: [{ value: anAddress(), primary: true }, { value: anAddress() }] });
  const at = `/Users/${user.id}`;
  for (const value of [`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(64)}.example`, 'a@1.2.3.4']) {
    const written = { userName: user.userName, emails: [{ value, primary: true }] };
    const activated = operations({ op: 'replace', path: 'active', value: true });
    const refused = [
      await call('POST', '/Users', { userName: value }),
      await call('POST', '/Users', { ...written, userName: anAddress() }),
      await call('PUT', at, written),
      await call('PATCH', at, operations({ op: 'replace', path: 'emails', value: written.emails })),
    ];
    expect(refused.map(scimOutcome)).toEqual(refused.map(() => '400 invalidValue'));
    await rowsOf(api, 'update identities set email = $2 where id = $1', [user.id, value]);
    const done = [
      await call('PATCH', at, operations({ op: 'replace', path: 'active', value: false })),
      await call('PATCH', at, activated),
      await call('PUT', at, { ...written, title: 'Engineer' }),
    ];
    expect(done.map(scimOutcome)).toEqual(['200', '200', '200']);
    expect(done[2]?.json()).toMatchObject({ title: 'Engineer', emails: written.emails });
  }
});

test('a user that becomes inactive is out of every session at once, and can return', async () => {
  const domain = await verified(api, account);
  const person = await newIdentityCaller(api, account);
  await rowsOf(api, 'update identities set email = $2 where id = $1', [person.id, anAddress(domain)]);
  const me = () => api.app.inject({ url: '/v1/identity/auth/me', headers: person.headers });
  expect((await me()).statusCode).toBe(200);
  const off = await call('PATCH', `/Users/${person.id}`, operations({ op: 'replace', path: 'active', value: false }));
  expect(off.json()).toMatchObject({ active: false });
  expect((await me()).statusCode).toBe(401);
  expect(await eventsOf(person.id)).toEqual(
    expect.arrayContaining(['identity.deactivated', 'identity.sessions_revoked']),
  );
  const on = await call('PATCH', `/Users/${person.id}`, operations({ op: 'replace', value: { active: 'True' } }));
  expect(on.json()).toMatchObject({ active: true });
  expect((await call('DELETE', `/Users/${person.id}`)).statusCode).toBe(204);
  expect((await call('GET', `/Users/${person.id}`)).statusCode).toBe(404);
});

test('an existing person is seen, and taken over only if the domain of the address is verified', async () => {
  const theirs = await make(api, account, '/identities', { email: anAddress() });
  expect((await call('GET', `/Users/${theirs.id}`)).statusCode).toBe(200);
  const patch = operations({ op: 'replace', path: 'active', value: false });
  for (const answer of [
    await call('PATCH', `/Users/${theirs.id}`, patch),
    await call('PUT', `/Users/${theirs.id}`, { userName: anAddress() }),
    await call('DELETE', `/Users/${theirs.id}`),
  ])
    expect(answer.statusCode).toBe(403);
  const denied = await rowsOf(
    api,
    `select from events where environment_id = $1 and action = 'auth.access_denied' and actor_type = 'scim_token' and outcome = 'denied'`,
    [account.scope.environmentId],
  );
  expect(denied).toHaveLength(3);
  const domain = await verified(api, account);
  const ours = await make(api, account, '/identities', { email: anAddress(domain) });
  expect((await call('PATCH', `/Users/${ours.id}`, patch)).statusCode).toBe(200);
  expect(await eventsOf(ours.id)).toContain('scim_user.linked');
});

test('an outage while a denial is recorded is reported in SCIM’s form', async () => {
  const theirs = await make(api, account, '/identities', { email: anAddress() });
  const { db } = api.database;
  const ask = db.transaction.bind(db);
  const outage = new DomainError('service.unavailable', { retryAfter: 5 });
  let isRefused = false;
  const asked = jest.spyOn(db, 'transaction').mockImplementation(async (...work) => {
    if (isRefused) throw outage;
    return ask(...work).catch((refusal: unknown) => {
      isRefused = true;
      throw refusal;
    });
  });
  const refused = await call('DELETE', `/Users/${theirs.id}`);
  asked.mockRestore();
  expect(isRefused).toBe(true);
  expect([scimOutcome(refused), refused.headers['retry-after']]).toEqual(['503', '5']);
  expect(refused.headers['content-type']).toContain('application/scim+json');
});

test('one of two directories that provision the same people at once gets them', async () => {
  const { id: organization } = await make(api, account, '/organizations', { name: 'Acme' });
  const own = await newDirectory(api, account, organization);
  const domain = await verified(api, account);
  await verified(api, account, organization, domain);
  const patch = operations({ op: 'add', path: 'title', value: 'Engineer' });
  for (let i = 0; i < 5; i++) {
    const { id } = await make(api, account, '/identities', { email: anAddress(domain) });
    await make(api, account, `/organizations/${organization}/members`, { identity_id: id });
    const answers = await Promise.all([call, own].map((each) => each('PATCH', `/Users/${id}`, patch)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 403]);
    expect(answers.map(({ body }) => body).join()).toContain('Another directory provisions this user');
  }
});

test('an address is vouched for by the claim of its own domain, not by that of its www. site', async () => {
  const domain = await verified(api, account);
  const theirs = await make(api, account, '/identities', { email: anAddress(`www.${domain}`) });
  const patch = operations({ op: 'replace', path: 'active', value: false });
  expect((await call('PATCH', `/Users/${theirs.id}`, patch)).statusCode).toBe(403);
  const ours = await make(api, account, '/identities', { email: anAddress(domain.toUpperCase()) });
  expect((await call('PATCH', `/Users/${ours.id}`, patch)).statusCode).toBe(200);
});

test('the address of a person who has signed in cannot be changed by a directory that does not own its domain', async () => {
  const user = await newUser(call);
  const at = `/Users/${user.id}`;
  const moved = anAddress();
  const move = (value: string) => call('PATCH', at, operations({ op: 'replace', path: 'userName', value }));
  expect((await move(moved)).json()).toMatchObject({ userName: moved, emails: [{ value: moved }] });
  await rowsOf(api, 'update identities set email_verified_at = now() where id = $1', [user.id]);
  expect((await move(anAddress())).statusCode).toBe(403);
  expect((await call('GET', at)).json()).toMatchObject({ userName: moved });
});

test('a changed address is confirmed without the password of the identity’s creator', async () => {
  const domain = await verified(api, account);
  const password = 'a passphrase of a stranger';
  const payload = { email: anAddress(domain), password, email_verified: false };
  const { id } = await make(api, account, '/identities', payload);
  const client = await newPublicClient(api, account.scope);
  const signsIn = async (email: string) => {
    const body = { client_id: client.clientId, email, password };
    return (await api.app.inject({ method: 'POST', url: '/v1/identity/auth/login', payload: body })).statusCode;
  };
  expect(await signsIn(payload.email)).toBe(403); // the address has to be confirmed first
  const write = (value: string) =>
    call('PATCH', `/Users/${id}`, operations({ op: 'replace', path: 'emails[type eq "work"].value', value }));
  const standing = async () =>
    (
      await rowsOf(
        api,
        `select email::text, email_verified_at is not null as "isVerified", password_hash is not null as "hasPassword"
         from identities where id = $1`,
        [id],
      )
    )[0];
  // Taking over confirms nothing.
  expect((await call('PATCH', `/Users/${id}`, operations({ op: 'add', path: 'title', value: 'T' }))).statusCode).toBe(
    200,
  );
  expect(await standing()).toMatchObject({ isVerified: false, hasPassword: true });
  const query = <Row extends object>(text: string, values: unknown[]) => rowsOf<Row>(api, text, values);
  await plantFactors(query, id);
  const moved = anAddress(domain);
  expect((await write(moved)).statusCode).toBe(200);
  expect(await standing()).toEqual({ email: moved, isVerified: true, hasPassword: false });
  expect(await credentialsOf(query, id)).toEqual(noCredentials);
  expect(await signsIn(moved)).toBe(401);
  expect(await eventsOf(id)).toEqual(
    expect.arrayContaining(['identity.updated', 'identity.password_changed', 'identity.email_verified']),
  );
  // A person with a confirmed address keeps what is theirs.
  const headers = await account.apiKey();
  const url = `/api/v1/identities/${id}/password`;
  await send(api.app, 200, { method: 'PUT', url, headers, payload: { password } });
  const again = anAddress(domain);
  expect((await write(again)).statusCode).toBe(200);
  expect(await standing()).toEqual({ email: again, isVerified: true, hasPassword: true });
  expect(await signsIn(again)).toBe(200);
});

describe('lists', () => {
  let of: ScimCall;
  beforeAll(async () => {
    const own = await newAccount(api);
    of = await newDirectory(api, own);
    for (const [i, givenName] of ['Ana', 'Ben', 'Cleo', 'Dora'].entries()) {
      const userName = `${givenName}@${own.accountSlug}.example`;
      const emails = [
        { value: userName, type: i % 2 ? 'home' : 'work', primary: true },
        { value: `x${i}@other.example`, type: 'other' },
      ];
      await newUser(of, {
        userName,
        externalId: `ext-${i}`,
        name: { givenName, familyName: `Family${i}` },
        displayName: `${givenName} "${i}" Ünal`,
        phoneNumbers: [{ value: `+49 30 555${i}`, type: 'work' }],
        [enterprise]: { employeeNumber: `no-77${i}`, ...(i === 2 && { manager: { value: 'boss' } }) },
        emails,
        active: i !== 3,
        title: i ? `T${i}` : undefined,
      });
    }
  });
  const named = async (filter: string, more = ''): Promise<string> => {
    const answer = await of('GET', `/Users?filter=${encodeURIComponent(filter)}${more}`);
    if (answer.statusCode !== 200) return scimOutcome(answer);
    return answer
      .json()
      .Resources.map((one: { name: { givenName: string } }) => one.name.givenName)
      .join(' ');
  };

  const filters: [filter: string, names: string][] = [
    ['externalId eq "ext-1"', 'Ben'],
    ['externalId eq "EXT-1"', ''],
    ['name.givenName eq "ANA"', 'Ana'],
    ['urn:ietf:params:scim:schemas:core:2.0:User:name.givenName sw "c"', 'Cleo'],
    ['userName co "@"', 'Ana Ben Cleo Dora'],
    ['userName ew ".example" and active eq true', 'Ana Ben Cleo'],
    ['active eq false or externalId eq "ext-0"', 'Ana Dora'],
    ['not (active eq true)', 'Dora'],
    ['active eq "False"', 'Dora'],
    ['active ne "True"', 'Dora'],
    ['active pr', 'Ana Ben Cleo Dora'],
    ['not (active pr) or active eq null', ''],
    ['active ne null', 'Ana Ben Cleo Dora'],
    ['title pr', 'Ben Cleo Dora'],
    ['phoneNumbers.display pr', ''],
    ['phoneNumbers pr and phoneNumbers.value pr', 'Ana Ben Cleo Dora'],
    ['emails.display pr', ''],
    ['emails pr and emails.value pr', 'Ana Ben Cleo Dora'],
    ['name pr and meta pr', 'Ana Ben Cleo Dora'],
    [`${enterprise}:manager pr`, 'Cleo'],
    ['title eq null', 'Ana'],
    ['title ne "T1"', 'Ana Cleo Dora'],
    ['title gt "T1" and title le "T3"', 'Cleo Dora'],
    ['emails.value eq "x2@other.example"', 'Cleo'],
    ['emails co "x1@"', 'Ben'],
    ['emails[type eq "home" and value sw "Ben"]', 'Ben'],
    ['emails[type eq "other" and value sw "Ben"]', ''],
    ['emails[type eq "home"].value sw "Ben"', 'Ben'],
    ['emails[type eq "other"].value sw "Ben"', ''],
    ['emails[type eq "work"] and not (name.givenName eq "Ana")', 'Cleo'],
    ['meta.created gt "2020-01-01T00:00:00Z" and meta.resourceType eq "User"', 'Ana Ben Cleo Dora'],
    ['meta.created lt "2020-01-01T00:00:00Z"', ''],
    ['groups pr', ''],
    ['phoneNumbers[type eq "fax"]', ''],
    ['phoneNumbers.value ew "5552"', 'Cleo'],
    ['displayName co "Cleo"', 'Cleo'],
    ['displayName sw "ana \\"0\\" ünal"', 'Ana'],
    ['displayName ew "ÜNAL" and name.familyName eq "family1"', 'Ben'],
    [`${enterprise}:employeeNumber eq "NO-773"`, 'Dora'],
    ['emails.value eq "X1@other.example" or name.familyName co "mily2"', 'Ben Cleo'],
    ['userName eq "nobody" or externalId eq "ext-0" or userName sw "dora@"', 'Ana Dora'],
    ['emails[type eq "other" and value eq "x3@other.example"]', 'Dora'],
    ['emails co "%x1@" or userName co "_na@"', ''],
    ['groups.value eq "nothing" or groups.value eq "00000000-0000-7000-8000-000000000001"', ''],
    [`${enterprise}:department eq "X"`, ''],
    ['id eq "nothing"', ''],
    ['nothing eq "x"', '400 invalidFilter'],
    ['active gt true', '400 invalidFilter'],
    ['active eq "perhaps"', '400 invalidFilter'],
    ['meta.created gt "yesterday"', '400 invalidFilter'],
    ['userName eq "\\u0000"', '400 invalidFilter'],
    ['userName eq 1', '400 invalidFilter'],
    ['name eq "x"', '400 invalidFilter'],
    ['userName', '400 invalidFilter'],
    ['groups[constructor eq "x"]', '400 invalidFilter'],
    ['groups[__proto__ pr]', '400 invalidFilter'],
    ['id co "0"', '400 invalidFilter'],
  ];
  test.each(filters)('%s finds %s', async (filter, expected) => {
    expect(await named(filter)).toBe(expected);
    // No index serves a negated filter: all users are read.
    expect(await named(`not (not (${filter}))`)).toBe(expected);
  });

  test('people are found by their group, and by their id', async () => {
    const { id } = await newUser(of, { name: { givenName: 'Eva' } });
    const group = await newGroup(of, 'Found by', id);
    for (const filter of [`groups.value eq "${group}"`, `groups eq "${group}" and active eq true`, `id eq "${id}"`])
      expect(await named(filter)).toBe('Eva');
    expect(await named(`id eq "${id.toUpperCase()}"`)).toBe('');
    expect((await of('DELETE', `/Groups/${group}`)).statusCode).toBe(204);
    expect((await of('DELETE', `/Users/${id}`)).statusCode).toBe(204);
  });

  test('a filter without an index is refused if it would read too many', async () => {
    const large = await newAccount(api);
    const inLarge = await newDirectory(api, large);
    const { userName } = await newUser(inLarge, { title: 'Engineer' });
    await rowsOf(api, `update counters set value = 150000 where environment_id = $1 and name = 'identities'`, [
      large.scope.environmentId,
    ]);
    const outcome = async (query: string) => scimOutcome(await inLarge('GET', `/Users?${query}`));
    expect(await outcome(`filter=${encodeURIComponent('active eq true')}`)).toBe('200');
    for (const refused of [
      `filter=${encodeURIComponent('active eq true and title pr')}`,
      `filter=${encodeURIComponent('title eq "Engineer"')}&sortBy=title`,
      `filter=${encodeURIComponent(Array.from({ length: 100 }, () => 'emails co "ab"').join(' or '))}`,
    ])
      expect(await outcome(refused)).toBe('400 tooMany');
    const found = `userName eq "${userName}" and active eq true and title eq "Engineer"`;
    expect((await inLarge('GET', `/Users?filter=${encodeURIComponent(found)}`)).json().totalResults).toBe(1);
  });

  test('pages and orders are as requested', async () => {
    expect(await named('userName pr', '&sortBy=name.givenName&sortOrder=descending&count=2')).toBe('Dora Cleo');
    expect(await named('userName pr', '&sortBy=emails&startIndex=3')).toBe('Cleo Dora');
    const page = (await of('GET', '/Users?startIndex=2&count=2&attributes=userName')).json();
    expect(page).toMatchObject({ totalResults: 4, startIndex: 2, itemsPerPage: 2 });
    expect(Object.keys(page.Resources[0])).toEqual(['schemas', 'id', 'userName']);
    expect((await of('GET', '/Users?count=0')).json()).toMatchObject({ totalResults: 4, Resources: [] });
    expect((await of('GET', '/Users?startIndex=-3&count=9999')).json()).toMatchObject({
      startIndex: 1,
      itemsPerPage: 4,
    });
    for (const wrong of [
      'sortBy=nothing',
      'sortOrder=up',
      'count=many',
      'count=0x2',
      'count=',
      'startIndex=1e1',
      'attributes=a&excludedAttributes=b',
      'filter=a&filter=b',
    ])
      expect(scimOutcome(await of('GET', `/Users?${wrong}`))).toMatch(/^400 invalid/);
  });

  test('a search by a body finds the same, of both kinds at the root', async () => {
    await of('POST', '/Groups', { displayName: 'Everybody' });
    const filter = 'meta.created pr';
    expect((await of('POST', '/Users/.search', { filter, count: 3 })).json()).toMatchObject({
      totalResults: 4,
      itemsPerPage: 3,
    });
    expect((await of('POST', '/.search', { filter })).json()).toMatchObject({ totalResults: 5, itemsPerPage: 5 });
    expect((await of('POST', '/.search', { filter: 'displayName eq "everybody"' })).json()).toMatchObject({
      totalResults: 1,
    });
  });
});

test('no input of a client causes a server error', async () => {
  const { id } = await newUser(call);
  const deep = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`;
  const bodies: unknown[] = [
    '',
    '{',
    '[]',
    'null',
    '"x"',
    deep,
    '{"__proto__":{"a":1}}',
    {},
    { userName: 1 },
    { userName: 'x'.repeat(2000) },
  ];
  bodies.push(
    { userName: 'a\0@example.com' },
    { userName: anAddress(), title: '\ud800' },
    { userName: anAddress(), emails: 7 },
    { userName: anAddress(), name: [] },
  );
  bodies.push(
    { userName: anAddress(), active: 'perhaps' },
    { userName: anAddress(), emails: [{ value: 'no address' }] },
  );
  bodies.push({ Operations: 1 }, { Operations: [] }, { Operations: [null] }, operations({ op: 'add', path: 7 }));
  bodies.push(
    { displayName: 'G', members: [{ value: 'x' }] },
    { displayName: 'G', members: [{ value: id, type: 'Group' }] },
  );
  bodies.push({ filter: 1 }, { filter: '('.repeat(100) }, { attributes: 7 }, { startIndex: 'x' });
  const paths = [
    '/Users',
    '/Users/x',
    `/Users/${id}`,
    '/Groups',
    '/Groups/x',
    '/.search',
    '/Users/.search',
    '/Bulk',
    '/Me',
    '/Schemas',
    '/x',
  ];
  const faults: string[] = [];
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      if (method === 'DELETE' && path.includes(id)) continue;
      for (const body of method === 'GET' || method === 'DELETE' ? [undefined] : bodies) {
        const { statusCode, headers, body: text } = await call(method, path, body);
        const isScim =
          statusCode < 400 ||
          (String(headers['content-type']).includes('scim+json') && JSON.parse(text).status === String(statusCode));
        const isExpected = statusCode < 500 || (statusCode === 501 && /Bulk|Me/.test(path));
        if (!isScim || !isExpected)
          faults.push(`${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}: ${statusCode} ${text}`);
      }
    }
  }
  expect(faults).toEqual([]);
  expect((await call('POST', '/ServiceProviderConfig', {})).statusCode).toBe(405);
  expect((await call('GET', '/Me')).statusCode).toBe(501);
});

test('a further address is deleted with its value, and the main one stays', async () => {
  const user = await newUser(call);
  const [main, other] = [user.userName, anAddress()];
  const at = `/Users/${user.id}`;
  const emails = [
    { value: main, type: 'work', primary: true },
    { value: other, type: 'other' },
  ];
  const path = 'emails[type eq "other"].value';
  const changes = [
    operations({ op: 'remove', path }),
    operations({ op: 'replace', path, value: '' }),
    operations({ op: 'add', path: 'phoneNumbers', value: [{ type: 'work', value: '1' }] }, { op: 'remove', path }),
  ];
  for (const change of changes) {
    expect(scimOutcome(await call('PUT', at, { userName: main, emails }))).toBe('200');
    const changed = await call('PATCH', at, change);
    expect([scimOutcome(changed), changed.json().emails]).toEqual(['200', emails.slice(0, 1)]);
  }
  const unsaid = [emails[0], { type: 'other', value: '' }];
  expect((await call('PUT', at, { userName: main, emails: unsaid })).json().emails).toEqual(emails.slice(0, 1));
  for (const op of ['remove', 'replace']) {
    const onMain = operations({ op, path: 'emails[type eq "work"].value', value: '' });
    expect(scimOutcome(await call('PATCH', at, onMain))).toBe('400 invalidValue');
  }
  expect((await call('GET', at)).json().emails).toEqual(emails.slice(0, 1));
  // Without a rule about addresses, nothing is removed.
  const plain = await newUser(call);
  const nothing = operations({ op: 'replace', path, value: '' });
  expect(scimOutcome(await call('PATCH', `/Users/${plain.id}`, nothing))).toBe('200');
});

test('a user’s stored data is bounded; larger data from before is read, changed and deleted', async () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ type: `t${i}`, formatted: 'ä'.repeat(500), locality: 'Berlin' }));
  const tooMuch = { userName: anAddress(), addresses: addresses(70) };
  const user = await newUser(call, { addresses: addresses(40) });
  const at = `/Users/${user.id}`;
  const add = operations({ op: 'add', path: 'addresses', value: addresses(80).slice(40) });
  const refused = [await call('POST', '/Users', tooMuch), await call('PUT', at, tooMuch), await call('PATCH', at, add)];
  expect(refused.map(scimOutcome)).toEqual(Array(3).fill('400 invalidValue'));
  await rowsOf(
    api,
    `update scim_users set attributes = jsonb_set(attributes, '{addresses}', $2) where identity_id = $1`,
    [user.id, JSON.stringify(addresses(100))],
  );
  const read = (await call('GET', at)).json();
  expect(read.addresses).toHaveLength(100);
  const active = operations({ op: 'replace', path: 'active', value: false });
  const less = operations({ op: 'remove', path: 'addresses[type eq "t9"]' });
  const done = [await call('PATCH', at, active), await call('PUT', at, read), await call('PATCH', at, less)];
  expect(done.map(scimOutcome)).toEqual(['200', '200', '200']);
  const more = operations({ op: 'add', path: 'addresses', value: [{ type: 'new', locality: 'Bonn' }] });
  expect(scimOutcome(await call('PATCH', at, more))).toBe('400 invalidValue');
  expect((await call('DELETE', at)).statusCode).toBe(204);
});

test('a text that is too long for an index is refused as such, whatever its letters', async () => {
  const { id } = await newUser(call);
  const { id: group } = (await call('POST', '/Groups', { displayName: 'G' })).json();
  // All different, since PostgreSQL would compress equal ones.
  const letters = (length: number, from: number) =>
    String.fromCharCode(...Array.from({ length }, (_, i) => from + ((i * 7919 + i * i) % 20_000)));
  const [long, fits] = [letters(900, 0x4e00), letters(800, 0x4e00)];
  const writes = (text: string): [path: string, one: object][] => [
    ['Users', { userName: text, emails: [{ value: anAddress() }] }],
    ['Users', { userName: anAddress(), externalId: text }],
    ['Groups', { displayName: text }],
    ['Groups', { displayName: 'G', externalId: text }],
  ];
  for (const [path, one] of writes(long)) {
    const at = path === 'Users' ? `/Users/${id}` : `/Groups/${group}`;
    const refused = [await call('POST', `/${path}`, one), await call('PUT', at, one)];
    refused.push(await call('PATCH', at, operations({ op: 'replace', value: one })));
    expect(refused.map(scimOutcome)).toEqual(Array(3).fill('400 invalidValue'));
  }
  for (const [path, one] of writes(fits)) expect(scimOutcome(await call('POST', `/${path}`, one))).toBe('201');
});

test('users and groups of another account do not exist', async () => {
  const theirs = await newDirectory(api, await newAccount(api));
  const user = await newUser(theirs);
  const group = (await theirs('POST', '/Groups', { displayName: 'Theirs' })).json().id;
  for (const path of [`/Users/${user.id}`, `/Groups/${group}`]) {
    const name = { userName: anAddress(), displayName: 'x' };
    expect((await call('GET', path)).statusCode).toBe(404);
    expect((await call('PUT', path, name)).statusCode).toBe(404);
    expect((await call('PATCH', path, operations({ op: 'replace', value: { externalId: 'x' } }))).statusCode).toBe(404);
    expect((await call('DELETE', path)).statusCode).toBe(404);
  }
  expect(scimOutcome(await call('POST', '/Groups', { displayName: 'G', members: [{ value: user.id }] }))).toBe(
    '400 invalidValue',
  );
  const found = await call('GET', `/Users?filter=${encodeURIComponent(`userName eq "${user.userName}"`)}`);
  expect(found.json().totalResults).toBe(0);
});

test('the address with which a person signs in is not replaced by another one, unless the request says so', async () => {
  const [work, home, next] = [anAddress(), anAddress(), anAddress()];
  const entries = [
    { value: work, type: 'work', primary: true },
    { value: home, type: 'home' },
  ];
  const { id } = await newUser(call, { emails: entries });
  const only = await newUser(call, { emails: [{ value: anAddress(), type: 'work' }] });
  const outcome = async (of: string, ...list: object[]) =>
    scimOutcome(await call('PATCH', `/Users/${of}`, operations(...list)));
  const taken = { op: 'remove', path: 'emails[type eq "work"]' };
  const addressOf = async () => (await rowsOf(api, 'select email from identities where id = $1', [id]))[0];
  expect(await outcome(id, taken)).toBe('400 mutability');
  expect(await outcome(id, { op: 'remove', path: 'emails', value: [{ value: work }] })).toBe('400 mutability');
  // The name is an address, too.
  expect(await outcome(only.id, taken)).toBe('400 mutability');
  expect(await outcome(only.id, { op: 'replace', path: 'emails', value: [] })).toBe('400 mutability');
  expect(await addressOf()).toEqual({ email: work });
  expect(await outcome(id, taken, { op: 'add', path: 'emails', value: [{ value: next, type: 'work' }] })).toBe(
    '400 mutability',
  );
  const named = { value: next, type: 'work', primary: true };
  expect(await outcome(id, taken, { op: 'add', path: 'emails', value: [named] })).toBe('200');
  expect(await addressOf()).toEqual({ email: next });
  expect(await outcome(id, taken, { op: 'replace', path: 'emails[type eq "home"].primary', value: true })).toBe('200');
  expect(await addressOf()).toEqual({ email: home });
});
