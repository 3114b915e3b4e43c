import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { newIdentityCaller } from '../../support/identity-caller.js';
import { inviteTo, linkTokenOf, newRole, signInTo } from '../../support/identity-invites.js';
import { type Calls, callsWith } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
});
afterAll(() => api.stop());

const path = '/identity-invites';
const html = { accept: 'text/html' };
const open = (token: string, headers: Record<string, string> = html) =>
  api.app.inject({ url: `/oauth/invite?token=${encodeURIComponent(token)}`, headers });
const submit = (fields: Record<string, string>, headers: Record<string, string> = html) =>
  api.app.inject({
    method: 'POST',
    url: '/oauth/invite',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields).toString(),
  });
const statusOf = async (id: string) => (await key('GET', `${path}/${id}`)).json().data.status;

test('opening the link shows who invites to what and consumes nothing; sending the form accepts, once', async () => {
  const made = await inviteTo(key, path, { role_id: await newRole(key) });
  for (let i = 0; i < 3; i++) {
    const page = await open(made.token);
    expect(page.statusCode).toBe(200);
    expect(page.headers['cache-control']).toContain('no-store');
    for (const part of ['Join Portal', made.email, 'value="Ivo"', 'name="password"', made.token, '<button'])
      expect(page.body).toContain(part);
  }
  expect(await statusOf(made.id)).toBe('pending');
  const fields = { token: made.token, first_name: 'Ivan', last_name: 'Kern', password: 'violet tractor 19' };
  const done = await submit(fields);
  expect(done.statusCode).toBe(200);
  expect(done.body).toContain('Welcome to Portal');
  expect(done.cookies).toEqual([]);
  expect(await statusOf(made.id)).toBe('accepted');
  const again = await submit(fields); // by a double click: it says what the first one did
  expect([again.statusCode, again.cookies]).toEqual([200, []]);
  expect(again.body).toContain('Welcome to Portal');
  expect((await submit(fields, { accept: 'application/json' })).statusCode).toBe(400);
  await rowsOf(api, `update identity_invites set ended_at = ended_at - interval '1 minute' where id = $1`, [made.id]);
  for (const answer of [await open(made.token), await submit(fields)]) {
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('You have already accepted this invitation');
  }
});

test('a dead link names its application in its language; only an accepted one leads on to it', async () => {
  const own = await newAccount(api);
  const ofOwner = callsOf(api, own.accountSlug, await own.as('owner'));
  const at = `/applications/${own.applicationSlug}/environments/development`;
  const client = { name: 'Web', client_type: 'public', redirect_uris: ['https://shop.example/cb'] };
  expect((await ofOwner('POST', `${at}/oauth-clients`, client)).statusCode).toBe(201);
  const keyOfOwn = callsWith(api, await own.apiKey());
  const fields = { first_name: 'Ivan', last_name: 'Kern', password: 'violet tractor 19' };
  const accepted = await inviteTo(keyOfOwn, path, { locale: 'de' });
  expect((await submit({ ...fields, token: accepted.token })).statusCode).toBe(200);
  const revoked = await inviteTo(keyOfOwn, path, { locale: 'de' });
  expect(outcomeOf(await keyOfOwn('POST', `${path}/${revoked.id}/revoke`))).toBe('200');
  const [after, ended, unknown] = [await open(accepted.token), await open(revoked.token), await open('a'.repeat(43))];
  expect([after, ended, unknown].map(({ statusCode }) => statusCode)).toEqual([400, 400, 400]);
  expect(after.body).toContain('Diese Einladung ist bereits angenommen');
  expect(after.body).toContain('href="https://shop.example"');
  expect(ended.body).toContain('Dieser Link funktioniert nicht mehr');
  expect(ended.body).toContain('wurde zurückgezogen');
  expect(ended.body).not.toContain('https://shop.example');
  expect(unknown.body).toContain('This link no longer works');
});

test('a person who answers again with another password is not told that this one works', async () => {
  const made = await inviteTo(key, path);
  const fields = { token: made.token, first_name: 'Ivan', last_name: 'Kern', password: 'violet tractor 19' };
  expect((await submit(fields)).statusCode).toBe(200);
  const other = await submit({ ...fields, password: 'another tractor 20' });
  expect([other.statusCode, other.body]).toEqual([400, expect.stringContaining('already accepted this invitation')]);
  expect((await submit(fields)).statusCode).toBe(200);
});

test('a form that is sent twice at once reports twice that the invite is accepted', async () => {
  const made = await inviteTo(key, path);
  const fields = { token: made.token, first_name: 'Ivan', last_name: 'Kern', password: 'violet tractor 19' };
  for (const answer of await Promise.all([submit(fields), submit(fields)])) {
    expect([answer.statusCode, answer.body]).toEqual([200, expect.stringContaining('Welcome to Portal')]);
  }
});

test('the page leads on to the site of the oldest client that has one, if any', async () => {
  const fields = { first_name: 'Ivan', last_name: 'Kern', password: 'violet tractor 19' };
  const leadsTo = async (body: object = {}) => {
    const { token } = await inviteTo(key, path, body);
    return /<a class="button" href="([^"]*)"/.exec((await submit({ ...fields, token })).body)?.[1] ?? null;
  };
  expect(await leadsTo()).toBeNull();
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const clients = `/applications/${account.applicationSlug}/environments/development/oauth-clients`;
  for (const uri of ['com.example.app:/cb', 'https://portal.example/cb', 'https://other.example/cb']) {
    const client = { name: 'Web', client_type: 'public', redirect_uris: [uri] };
    expect((await owner('POST', clients, client)).statusCode).toBe(201);
    api.clock.advance(1000); // with equal times, the ids would decide
  }
  expect(await leadsTo()).toBe('https://portal.example');
  expect(await leadsTo({ intent: 'directory' })).toBeNull();
});

test('a person who is only in the directory is not sent to an application that would refuse them', async () => {
  const made = await inviteTo(key, path, { intent: 'directory' });
  const fields = { token: made.token, first_name: 'Ivan', last_name: 'Kern', password: 'violet tractor 19' };
  const { body } = await submit(fields);
  expect(body).toContain('You can sign in to every application that you are given access to.');
  expect(body).not.toContain('and sign in');
  const other = await inviteTo(key, path);
  expect((await submit({ ...fields, token: other.token })).body).toContain('and sign in to continue.');
});

test('errors are shown on the form, and nothing is consumed', async () => {
  const made = await inviteTo(key, path);
  const wrong = async (fields: Record<string, string>) => {
    const page = await submit({ token: made.token, first_name: 'Typed', ...fields });
    expect(page.body).toContain('value="Typed"');
    return /<p class="alert"[^>]*>([^<]*)/.exec(page.body)?.[1];
  };
  expect(await wrong({})).toBe('Choose a password.');
  expect(await wrong({ password: 'short' })).toContain('at least 8 characters');
  expect(await wrong({ password: 'password123' })).toContain('data breach');
  expect(await wrong({ password: 'typed-typed' })).toContain('little more than a name');
  expect(await wrong({ password: 'violet tractor 19', last_name: 'x'.repeat(201) })).toContain('200 characters');
  expect(await statusOf(made.id)).toBe('pending');
  const foreign = await submit(
    { token: made.token, password: 'violet tractor 19' },
    { origin: 'https://evil.example' },
  );
  expect(foreign.statusCode).toBe(403);
  expect(await statusOf(made.id)).toBe('pending');
});

test('a person who can sign in already only confirms', async () => {
  const caller = await newIdentityCaller(api, account);
  await rowsOf(api, 'update identities set verified_by_word = false where id = $1', [caller.id]); // they have proved it
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const made = await inviteTo(production, path, { email: caller.email });
  const page = (await open(made.token)).body;
  expect(page).toContain('already have a sign-in');
  for (const field of ['password', 'first_name']) expect(page).not.toContain(`name="${field}"`);
  expect((await submit({ token: made.token })).statusCode).toBe(200);
  expect(await signInTo(api, caller.clientId, caller.email, caller.password)).toBe('200');
});

test('the page is in English or German, with the environment’s design', async () => {
  await rowsOf(
    api,
    `update environment_settings set branding = branding || '{"name": "Nordwind", "primary_color": "#aa0044"}' where environment_id = $1`,
    [account.scope.environmentId],
  );
  const made = await inviteTo(key, path, { locale: 'de' });
  const german = await open(made.token);
  expect(german.body).toContain('<html lang="de">');
  expect(german.body).toContain('Nordwind beitreten');
  expect((await open(made.token, { ...html, 'accept-language': 'en' })).body).toContain('Join Nordwind');
  const done = await submit({ token: made.token, password: 'violet tractor 19' }, { ...html, 'accept-language': 'de' });
  expect(done.body).toContain('Willkommen bei Nordwind');
});

test('a script gets JSON', async () => {
  const json = { accept: 'application/json' };
  const made = await inviteTo(key, path);
  expect((await open(made.token, json)).json()).toEqual({
    email: made.email,
    place_name: 'Portal',
    fields: ['first_name', 'last_name', 'password'],
    password_min_length: 8,
  });
  const refused = await submit({ token: made.token }, json);
  expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_request']);
  expect((await submit({ token: made.token, password: 'violet tractor 19' }, json)).json()).toEqual({
    status: 'invite_accepted',
    continue_to: null,
  });
  for (const token of [made.token, linkTokenOf(account.userId), '', 'x'])
    expect((await open(token, json)).json().error).toBe('invalid_request');
});

test('a chosen name is shown as text, not as markup', async () => {
  const made = await inviteTo(key, path, { first_name: '<script>alert(1)</script>', last_name: '"><b>' });
  const { body } = await open(made.token);
  expect(body).not.toContain('<script>alert');
  expect(body).not.toContain('"><b>');
  expect(outcomeOf(await key('POST', `${path}/${made.id}/revoke`))).toBe('200');
});
