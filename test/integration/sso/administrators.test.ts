import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { Application } from '../../../entities/application.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { User } from '../../../entities/user.js';
import { UserSession } from '../../../entities/user-session.js';
import type { Assertion } from '../../../src/domain/sso-protocols/assertion.js';
import { admitAdministrator } from '../../../src/domain/sso-sign-in/administrator-admission.js';
import { days, hours, minutes } from '../../../src/platform/clock.js';
import { sealing } from '../../support/administrators.js';
import { here, outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { expectEqualTimes } from '../../support/equal-times.js';
import { interleaved } from '../../support/interleaving.js';
import { totpCode } from '../../support/mfa.js';
import { Browser } from '../../support/oauth/browser.js';
import { rowsOf } from '../../support/rows.js';
import { goingOnTo, leavingIn, logoutRequestXml, logoutResponseXml, signedQuery } from '../../support/saml/logout.js';
import type { ResponseParts } from '../../support/saml/provider.js';
import { answerTo, askedIn, giveSigningKey, newSamlProvider, type SamlProvider } from '../../support/saml/sign-in.js';
import { newOidcConnection, newVerifiedDomain } from '../../support/sso.js';

const baseUrl = 'http://localhost:3000';
let api: TestApi;
let idp: SamlProvider;
beforeAll(async () => {
  [api, idp] = await Promise.all([startApi(), newSamlProvider()]);
});
afterAll(() => api.stop());

interface Place {
  account: TestAccount;
  connection: SsoConnection;
  domain: string;
}
const system = <T>(work: Parameters<typeof api.database.db.transaction<T>>[1]) =>
  api.database.db.transaction('system', work);

/** Creates an Account with a verified domain and a provider for its administrators. */
async function place(overrides: Partial<SsoConnection> = {}): Promise<Place> {
  const account = await newAccount(api);
  const domain = `${randomUUID()}.example`;
  const { db } = api.database;
  const world = { db, now: () => api.clock.now, sealing };
  const where = { accountId: account.scope.accountId, environmentId: null as never };
  await newVerifiedDomain(world, where, domain);
  const connection = await newOidcConnection(
    world,
    where,
    { issuer: '', clientId: '', clientSecret: '' },
    { ...idp.fields, scope: 'admin', jitProvisioningEnabled: false, ...overrides },
  );
  await giveSigningKey(world, connection);
  return { account, connection, domain };
}

/** Creates a member of the Account's team without a password. */
async function newMember({ account }: Place, email: string, fields: Partial<User> = {}): Promise<string> {
  const { accountId } = account.scope;
  const [id, membershipId, createdAt] = [uuidv7(), uuidv7(), api.clock.now];
  const times = { createdAt, updatedAt: createdAt };
  await system(async (tx) => {
    const { id: roleId } = await tx.findOneByOrFail(AdministratorRole, { accountId, systemKey: 'developer' });
    await tx.insert(User, {
      id,
      email,
      firstName: 'Ana',
      lastName: 'Arendt',
      emailVerifiedAt: createdAt,
      ...times,
      ...fields,
    });
    await tx.insert(Membership, { id: membershipId, accountId, userId: id, createdAt });
    await tx.insert(MembershipRole, { membershipId, roleId, accountId, limits: null });
  });
  return id;
}

async function secondApplication({ account: { scope } }: Place): Promise<string> {
  const [id, createdAt] = [uuidv7(), api.clock.now];
  const row = { id, accountId: scope.accountId, name: 'Second', slug: 'second', createdAt, updatedAt: createdAt };
  await system((tx) => tx.insert(Application, row));
  return id;
}

const start = (browser: Browser, email: string, more = '') =>
  browser.get(`/v1/auth/sso/start?email=${encodeURIComponent(email)}${more}`);

/** Signs in; returns the answer of `/sso/complete`. */
async function walk(
  browser: Browser,
  email: string,
  changes: Partial<ResponseParts> = {},
  { more = '', accept = 'application/json' } = {},
) {
  const away = await start(browser, email, more);
  expect(away.statusCode).toBe(303);
  const { path, form } = answerTo(String(away.headers.location), idp, api.clock.now, { nameId: email, ...changes });
  const answered = await new Browser(api.app).post(path, form, { origin: 'https://idp.acme.example' });
  return browser.get(here(answered), { accept });
}
const failureOf = async (answer: Promise<LightMyRequestResponse>) => (await answer).json().error;
const newBrowser = () => new Browser(api.app);
const names = ({ cookies }: LightMyRequestResponse) => cookies.map(({ name }) => name).sort();

test('a person returns while the connection is deleted: one comes after the other, at every statement', async () => {
  const problems: string[] = [];
  for (let at = 1; at <= 16; at++) {
    const there = await place();
    const email = `ana@${there.domain}`;
    await newMember(there, email);
    await walk(newBrowser(), email); // they are linked from here on
    const owner = callsOf(api, there.account.accountSlug, await there.account.as('owner'));
    const browser = newBrowser();
    const { path, form } = answerTo(here(await start(browser, email)), idp, api.clock.now, { nameId: email });
    const answered = await new Browser(api.app).post(path, form, { origin: 'https://idp.acme.example' });
    const [came, deleted] = await interleaved(
      api.database.ownerUrl,
      at,
      () => browser.get(here(answered), { accept: 'application/json' }),
      () => owner('DELETE', `/sso/connections/${there.connection.id}`),
    );
    const authorization = `Bearer ${came.json().data?.access_token}`;
    const me = await api.app.inject({ url: '/v1/auth/me', headers: { authorization } });
    if (came.statusCode >= 500 || deleted.statusCode !== 204 || me.statusCode !== 401)
      problems.push(`before statement ${at}: ${came.statusCode}, ${outcomeOf(deleted)}, ${me.statusCode}`);
  }
  expect(problems).toEqual([]);
});

test('a person returns while they move to another address: the provider that speaks for the former one begins no session', async () => {
  const came: string[] = [];
  for (let at = 1; at <= 24 && came.at(-1) !== '200'; at++) {
    const there = await place();
    const email = `ana@${there.domain}`;
    const id = await newMember(there, email);
    const browser = newBrowser();
    const { path, form } = answerTo(here(await start(browser, email)), idp, api.clock.now, { nameId: email });
    const answered = await new Browser(api.app).post(path, form, { origin: 'https://idp.acme.example' });
    const move = () =>
      system(async (tx) => {
        await tx.query('select from users where id = $1 for update', [id]);
        const values = [id, api.clock.now];
        await tx.query(`update users set email = 'new-' || email, email_changed_at = $2 where id = $1`, values);
        await tx.query('update user_sessions set revoked_at = $2 where user_id = $1 and revoked_at is null', values);
      });
    const [answer] = await interleaved(
      api.database.ownerUrl,
      at,
      () => browser.get(here(answered), { accept: 'application/json' }),
      move,
    );
    came.push(String(answer.statusCode));
    const open = await rowsOf(api, 'select from user_sessions where user_id = $1 and revoked_at is null', [id]);
    expect([at, answer.statusCode < 500, open.length]).toEqual([at, true, 0]);
  }
});

test.each([
  ['has', 6],
  ['gets', 9],
])('a sign-in at a connection that %s a key while it is deleted is sent on or refused', async (has, from) => {
  const came: string[] = [];
  for (let at = from; at <= 24 && came.at(-1) !== 'sent'; at++) {
    const there = await place();
    if (has === 'gets')
      await rowsOf(api, 'delete from sso_signing_keys where connection_id = $1', [there.connection.id]);
    const owner = callsOf(api, there.account.accountSlug, await there.account.as('owner'));
    const url = `/v1/auth/sso/start?email=ana@${there.domain}`;
    const [sent, deleted] = await interleaved(
      api.database.ownerUrl,
      at,
      () => api.app.inject({ url, headers: { accept: 'application/json' } }),
      () => owner('DELETE', `/sso/connections/${there.connection.id}`),
    );
    expect(deleted.statusCode).toBe(204);
    came.push(sent.statusCode === 200 ? 'sent' : outcomeOf(sent));
  }
  expect([...new Set(came)]).toEqual(['404 admin_sso.not_available', 'sent']);
});

test('of two subjects of the provider with one address at once, one is let in', async () => {
  for (let at = 1; at <= 12; at++) {
    const { connection, ...there } = await place();
    const email = `ana@${there.domain}`;
    await newMember({ connection, ...there }, email);
    const named = (subject: string) => () =>
      system((tx) =>
        admitAdministrator(
          tx,
          connection,
          { subject, email, emailVerified: true, attributes: {} as object } as Assertion,
          api.clock.now,
        ),
      );
    const came = await interleaved(api.database.ownerUrl, at, named('first'), named('second'));
    const links = await rowsOf(api, 'select subject from sso_links where connection_id = $1', [connection.id]);
    expect([at, links.length, came.filter((one) => 'refusal' in one)]).toEqual([
      at,
      1,
      [{ refusal: 'subject_mismatch' }],
    ]);
  }
});

test('a person returns while the connection gets another provider: none of its people is linked', async () => {
  const problems: string[] = [];
  for (let at = 1; at <= 16; at++) {
    const there = await place();
    const email = `ana@${there.domain}`;
    await newMember(there, email);
    const owner = callsOf(api, there.account.accountSlug, await there.account.as('owner'));
    const browser = newBrowser();
    const { path, form } = answerTo(here(await start(browser, email)), idp, api.clock.now, { nameId: email });
    const answered = await new Browser(api.app).post(path, form, { origin: 'https://idp.acme.example' });
    const [came, changed] = await interleaved(
      api.database.ownerUrl,
      at,
      () => browser.get(here(answered), { accept: 'application/json' }),
      () =>
        owner('PATCH', `/sso/connections/${there.connection.id}`, { saml_entity_id: 'https://another.example/saml' }),
    );
    const links = await rowsOf(api, 'select from sso_links where connection_id = $1', [there.connection.id]);
    if (came.statusCode >= 500 || changed.statusCode !== 200 || links.length > 0)
      problems.push(`before statement ${at}: ${came.statusCode}, ${outcomeOf(changed)}, ${links.length} links`);
  }
  expect(problems).toEqual([]);
});

describe('an administrator who signs in by their account’s provider', () => {
  test('gets both cookies, in that account, as the event says', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    const userId = await newMember(at, email);
    const answer = await walk(newBrowser(), email);
    expect(answer.json().data).toMatchObject({
      outcome: 'authenticated',
      user: { id: userId, email },
      account: { id: at.account.scope.accountId },
    });
    expect(names(answer)).toEqual(['admin_refresh', 'admin_session']);
    const me = await api.app.inject({
      url: '/v1/auth/me',
      headers: { authorization: `Bearer ${answer.json().data.access_token}` },
    });
    expect(me.statusCode).toBe(200);
    const rows = await system((tx) =>
      tx.query(`select metadata from events where action = 'auth.admin_signed_in' and resource_id = $1`, [userId]),
    );
    expect(rows).toEqual([
      { metadata: { amr: ['pwd'], session_id: expect.any(String), connection_id: at.connection.id } },
    ]);
  });

  test('is not let in by an hours-old session at the provider, if the connection requires a new sign-in', async () => {
    const at = await place({ forceAuthn: true });
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    const silently = { authnInstant: new Date(api.clock.now.getTime() - 8 * 60 * 60_000) };
    expect(await failureOf(walk(newBrowser(), email, silently))).toBe('sso.reauthentication_missing');
    expect((await walk(newBrowser(), email)).json().data).toMatchObject({ outcome: 'authenticated' });
  });

  test('is signed in in the browser, or asked which application', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    const page = await browse(at, email);
    expect(page.body).toContain('You are signed in');
    const second = await secondApplication(at);
    const browser = newBrowser();
    const choice = await browse(at, email, browser);
    expect(names(choice)).toEqual([]);
    expect(choice.body).toContain('Second');
    const foreign = (await place()).account.scope.applicationId;
    expect((await browser.submit(choice, { application_id: foreign }, { origin: baseUrl })).statusCode).toBe(404);
    const chosen = await browser.submit(choice, { application_id: second }, { origin: baseUrl });
    expect(chosen.statusCode).toBe(200);
    expect(names(chosen)).toEqual(['admin_refresh', 'admin_session']);
    expect((await browser.submit(choice, { application_id: second }, { origin: baseUrl })).statusCode).toBe(401);
    const askedForeign = await walk(newBrowser(), email, {}, { more: `&application_id=${foreign}` });
    expect(askedForeign.json().data.outcome).toBe('application_selection_required');
    const asked = await walk(newBrowser(), email, {}, { more: `&application_id=${second}` });
    expect(asked.json().data).toMatchObject({ outcome: 'authenticated', application: { id: second } });
  });

  async function browse(at: Place, email: string, browser = newBrowser()) {
    const away = await start(browser, email);
    const { path, form } = answerTo(String(away.headers.location), idp, api.clock.now, { nameId: email });
    expect(askedIn(String(away.headers.location)).acsUrl).toContain(at.connection.id);
    return browser.get(here(await newBrowser().post(path, form)));
  }

  test('is linked, also when the provider reports another address later', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    const nameIdAttributes = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"';
    const subject = { nameId: randomUUID(), nameIdAttributes };
    await walk(newBrowser(), email, { ...subject, attributes: { mail: [email] } });
    const later = await walk(newBrowser(), email, { ...subject, attributes: { mail: [`married@${at.domain}`] } });
    expect(later.json().data.user.email).toBe(email);
  });

  test('opens only the provider’s account, whatever else the user is a member of', async () => {
    const [at, other] = [await place(), await place()];
    const email = `ana@${at.domain}`;
    const userId = await newMember(at, email);
    await system((tx) =>
      tx.insert(Membership, {
        id: uuidv7(),
        accountId: other.account.scope.accountId,
        userId,
        createdAt: api.clock.now,
      }),
    );
    const { data } = (await walk(newBrowser(), email)).json();
    expect(data).toMatchObject({ outcome: 'authenticated', account: { id: at.account.scope.accountId } });
    const headers = { authorization: `Bearer ${data.access_token}` };
    const open = (slug: string) => api.app.inject({ url: `/portal/v1/accounts/${slug}/me`, headers });
    expect((await open(at.account.accountSlug)).statusCode).toBe(200);
    const refused = await open(other.account.accountSlug);
    expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'account.other_sign_in_required']);
    // This Account's provider does not let them leave or close the other Account, nor delete their sign-in.
    const { accountId } = other.account.scope;
    for (const url of [`/accounts/${accountId}/membership`, `/accounts/${accountId}?confirm=x`, '/me']) {
      const kept = await api.app.inject({ method: 'DELETE', url: `/v1/auth${url}`, headers });
      expect([url, kept.statusCode, kept.json().error?.code]).toEqual([url, 403, 'account.other_sign_in_required']);
    }
    const url = `/portal/v1/accounts/${other.account.accountSlug}/audit-log?outcome=denied&order=asc`;
    const denied = await api.app.inject({ url, headers: await other.account.as('owner') });
    const operations = denied.json().items.map((row: { resource_id: string }) => row.resource_id);
    expect(operations).toEqual(['getMe', 'leaveAccount', 'closeAccount']);
    const left = await api.app.inject({
      method: 'DELETE',
      url: `/v1/auth/accounts/${at.account.scope.accountId}/membership`,
      headers,
    });
    expect(left.statusCode).toBe(204);
    // An Account of which they are no member looks like one that does not exist.
    expect((await open((await newAccount(api)).accountSlug)).json().error.code).toBe('account.not_found');
  });

  test('neither changes nor sees what the user has in all accounts: factors, name, sessions elsewhere', async () => {
    const [at, other] = [await place(), await place()];
    const email = `ana@${at.domain}`;
    const userId = await newMember(at, email);
    const { accountId } = other.account.scope;
    const elsewhere = uuidv7();
    const times = { createdAt: api.clock.now, lastUsedAt: api.clock.now, authenticatedAt: api.clock.now };
    const proved = { amr: ['pwd'], acr: 'urn:gatehouse:aal1', expiresAt: new Date(api.clock.now.getTime() + days(1)) };
    await system((tx) => tx.insert(UserSession, { id: elsewhere, userId, accountId, ...proved, ...times }));
    const { data } = (await walk(newBrowser(), email)).json();
    const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
      const headers = { authorization: `Bearer ${data.access_token}` };
      const answer = await api.app.inject({ method, url: `/v1/auth${path}`, headers, ...(payload && { payload }) });
      return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
    };
    const listed = async () => (await call('GET', '/sessions')).body.items.map(({ id }: { id: string }) => id);
    expect(await listed()).toContain(elsewhere); // this Account's provider is responsible for a person who has no other
    expect((await call('PATCH', '/me', { last_name: 'Brandt' })).status).toBe(200);
    const rename = () => call('PATCH', `/mfa/factors/${uuidv7()}`, { label: 'Key' }); // which they do not have
    expect((await rename()).status).toBe(404);
    const membership = { id: uuidv7(), accountId, userId, createdAt: api.clock.now };
    await system((tx) => tx.insert(Membership, membership));
    const refused = {
      status: 403,
      body: { error: expect.objectContaining({ code: 'account.other_sign_in_required' }) },
    };
    expect(await call('POST', '/mfa/totp/enroll', {})).toMatchObject(refused);
    expect(await call('POST', '/mfa/webauthn/enroll/options', {})).toMatchObject(refused);
    expect(await call('PATCH', '/me', { last_name: 'Clausen' })).toMatchObject(refused);
    expect(await rename()).toMatchObject(refused);
    expect(await listed()).toHaveLength(1);
    expect((await call('DELETE', `/sessions/${elsewhere}`)).status).toBe(404);
    const [own] = await listed();
    expect((await call('DELETE', `/sessions/${own}`)).status).toBe(204);
    const alive = await system((tx) => tx.findOneByOrFail(UserSession, { id: elsewhere }));
    expect(alive.revokedAt).toBeNull();
  });

  test('nor does so by a session for an account that they create on the way, which opens that one', async () => {
    const [at, other] = [await place(), await place()];
    const email = `ana@${at.domain}`;
    const userId = await newMember(at, email, { passwordHash: 'some hash' });
    await system((tx) =>
      tx.insert(Membership, {
        id: uuidv7(),
        accountId: other.account.scope.accountId,
        userId,
        createdAt: api.clock.now,
      }),
    );
    const { data } = (await walk(newBrowser(), email)).json();
    const created = await api.app.inject({
      method: 'POST',
      url: '/v1/auth/accounts',
      headers: { authorization: `Bearer ${data.access_token}` },
      payload: { account_name: `New ${randomUUID()}`, application_name: 'App' },
    });
    expect(created.statusCode).toBe(201);
    const { access_token: token, account } = created.json().data;
    const open = async (slug: string) =>
      (
        await api.app.inject({
          url: `/portal/v1/accounts/${slug}/me`,
          headers: { authorization: `Bearer ${token}` },
        })
      ).statusCode;
    expect(await open(account.slug)).toBe(200);
    expect(await open(other.account.accountSlug)).toBe(403);
  });

  test('gets no such session if the connection is disabled while they create an account', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    const userId = await newMember(at, email, { passwordHash: 'some hash' });
    const { data } = (await walk(newBrowser(), email)).json();
    // Disabling it ends the existing sessions, and this one does not exist yet.
    await system((tx) => tx.update(SsoConnection, { id: at.connection.id }, { status: 'disabled' }));
    const created = await api.app.inject({
      method: 'POST',
      url: '/v1/auth/accounts',
      headers: { authorization: `Bearer ${data.access_token}` },
      payload: { account_name: `New ${randomUUID()}`, application_name: 'App' },
    });
    expect(outcomeOf(created)).toBe('401');
    expect(await system((tx) => tx.countBy(UserSession, { userId }))).toBe(1);
  });

  test('keeps all factors of their own if the provider reports two; and is not let in by a disabled one', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    const post = (path: string, token: string | null, payload: object = {}) =>
      api.app.inject({
        method: 'POST',
        url: `/v1/auth/mfa${path}`,
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        payload,
      });
    const enroll = (token: string) => post('/totp/enroll', token);
    const two = { contextClass: 'https://refeds.org/profile/mfa' };
    const { data: first } = (await walk(newBrowser(), email, two)).json();
    const begun = (await enroll(first.access_token)).json().data;
    const confirmed = await post('/totp/confirm', first.access_token, {
      enrollment_token: begun.enrollment_token,
      code: totpCode(begun.secret, api.clock.now),
    });
    expect(confirmed.statusCode).toBe(201);

    const { data: byProvider } = (await walk(newBrowser(), email, two)).json();
    expect((await enroll(byProvider.access_token)).json().error.code).toBe('auth.reauthentication_required');
    const { data: asked } = (await walk(newBrowser(), email)).json();
    expect(asked.outcome).toBe('mfa_required');
    const answered = await post('/challenge/recovery-code', null, {
      challenge_token: asked.challenge_token,
      code: confirmed.json().data.recovery_codes[0],
    });
    expect((await enroll(answered.json().data.access_token)).statusCode).toBe(200);

    // Between the two factors, or before the choice of an Application: the provider's statement is void.
    const { data: waiting } = (await walk(newBrowser(), email)).json();
    await system((tx) =>
      tx.insert(Application, {
        id: uuidv7(),
        accountId: at.account.scope.accountId,
        name: 'Second',
        slug: 'second',
        createdAt: api.clock.now,
        updatedAt: api.clock.now,
      }),
    );
    const { data: choosing } = (await walk(newBrowser(), email, two)).json();
    expect([waiting.outcome, choosing.outcome]).toEqual(['mfa_required', 'application_selection_required']);
    const disabled = await api.app.inject({
      method: 'POST',
      url: `/portal/v1/accounts/${at.account.accountSlug}/sso/connections/${at.connection.id}/disable`,
      headers: await at.account.as('owner'),
    });
    expect(disabled.statusCode).toBe(200);
    const late = await post('/challenge/recovery-code', null, {
      challenge_token: waiting.challenge_token,
      code: confirmed.json().data.recovery_codes[1],
    });
    expect([late.statusCode, late.json().error.code]).toEqual([400, 'mfa.challenge_invalid']);
    const chosen = await api.app.inject({
      method: 'POST',
      url: '/v1/auth/select-application',
      payload: { selection_token: choosing.selection_token, application_id: choosing.applications[0].id },
    });
    expect([chosen.statusCode, chosen.json().error]).toEqual([401, expect.anything()]);
  });
});

describe('a person who is not known yet', () => {
  test('is refused unless invited, and then gets what the invite says', async () => {
    const at = await place();
    const email = `bea@${at.domain}`;
    expect(await failureOf(walk(newBrowser(), email))).toBe('sso.identity_unknown');
    const refused = await walk(newBrowser(), email, {}, { accept: 'text/html' });
    const again = `/v1/auth/sso/start?email=${encodeURIComponent(email)}&amp;prompt=login`;
    expect(refused.body).toContain(`href="${again}"`);
    const { accountId } = at.account.scope;
    const role = await system((tx) => tx.findOneByOrFail(AdministratorRole, { accountId, systemKey: 'support' }));
    const made = await api.app.inject({
      method: 'POST',
      url: `/portal/v1/accounts/${at.account.accountSlug}/administrator-invites`,
      headers: await at.account.as('owner'),
      payload: { email, first_name: 'Bea', last_name: 'Brandt', role_id: role.id, limits: null },
    });
    expect(made.statusCode).toBe(201);
    const { user } = (await walk(newBrowser(), email)).json().data;
    expect(user).toMatchObject({ first_name: 'Bea', last_name: 'Brandt' });
    expect(await rolesOf(accountId, user.id)).toEqual(['support']);
    const [ended] = await system((tx) => tx.findBy(AdministratorInvite, { accountId, email }));
    expect(ended?.status).toBe('accepted');
  });

  test('becomes a Viewer if the connection provisions, without a password', async () => {
    const at = await place({ jitProvisioningEnabled: true });
    const email = `cem@${at.domain}`;
    const { user } = (await walk(newBrowser(), email, { attributes: { givenName: ['Cem'], sn: ['Can'] } })).json().data;
    expect(user).toMatchObject({ email, first_name: 'Cem', last_name: 'Can' });
    expect(await rolesOf(at.account.scope.accountId, user.id)).toEqual(['viewer']);
    expect(await system((tx) => tx.findOneByOrFail(User, { id: user.id }))).toMatchObject({
      passwordHash: null,
      emailVerifiedAt: api.clock.now,
    });
  });

  test('becomes one user by two sign-ins at once', async () => {
    const at = await place({ jitProvisioningEnabled: true });
    const email = `duo@${at.domain}`;
    const both = await Promise.all([walk(newBrowser(), email), walk(newBrowser(), email)]);
    const ids = both.map((answer) => answer.json().data?.user.id);
    expect(ids[0]).toBeTruthy();
    expect(ids[0]).toBe(ids[1]);
  });

  test('is an unverified user, who loses the password that another person set', async () => {
    const at = await place({ jitProvisioningEnabled: true });
    const email = `eva@${at.domain}`;
    const id = await newMember(at, email, { emailVerifiedAt: null, passwordHash: 'somebody else’s' });
    expect((await walk(newBrowser(), email)).json().data.user.id).toBe(id);
    expect(await system((tx) => tx.findOneByOrFail(User, { id }))).toMatchObject({ passwordHash: null });
  });

  const rolesOf = async (accountId: string, userId: string) => {
    const rows = await system((tx) =>
      tx.query<{ key: string }[]>(
        `select r.system_key as key from memberships m join membership_roles mr on mr.membership_id = m.id
         join administrator_roles r on r.id = mr.role_id where m.account_id = $1 and m.user_id = $2`,
        [accountId, userId],
      ),
    );
    return rows.map(({ key }) => key);
  };
});

describe('nobody is let in', () => {
  test('with a domain that the account has not verified, or not any more', async () => {
    const at = await place({ jitProvisioningEnabled: true });
    const email = `ana@${at.domain}`;
    const owner = await system((tx) => tx.findOneByOrFail(User, { id: at.account.userId }));
    const stolen = walk(newBrowser(), email, { nameId: owner.email });
    expect(await failureOf(stolen)).toBe('sso.domain_not_verified');
    await walk(newBrowser(), email);
    const browser = newBrowser();
    const away = await start(browser, email);
    await system((tx) => tx.update(SsoDomain, { domain: at.domain }, { status: 'lapsed' }));
    const { path, form } = answerTo(String(away.headers.location), idp, api.clock.now, { nameId: email });
    const lapsed = browser.get(here(await newBrowser().post(path, form)), { accept: 'application/json' });
    expect(await failureOf(lapsed)).toBe('sso.domain_not_verified');
  });

  test('who is linked, and has another address by now', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    const id = await newMember(at, email);
    await walk(newBrowser(), email);
    await system((tx) => tx.update(User, { id }, { email: `ana-${id}@other.example` }));
    expect(await failureOf(walk(newBrowser(), email))).toBe('sso.domain_not_verified');
  });

  test('who is no member any more', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    const userId = await newMember(at, email);
    await walk(newBrowser(), email);
    await system(async (tx) => {
      const { id: membershipId } = await tx.findOneByOrFail(Membership, { userId });
      await tx.delete(MembershipRole, { membershipId });
      await tx.delete(Membership, { userId });
    });
    expect(await failureOf(walk(newBrowser(), email))).toBe('sso.not_a_member');
  });

  test('the refusal is in the audit log', async () => {
    const at = await place();
    await walk(newBrowser(), `zoe@${at.domain}`);
    const rows = await system((tx) =>
      tx.query(`select outcome, metadata from events where action = 'auth.admin_sign_in_failed' and account_id = $1`, [
        at.account.scope.accountId,
      ]),
    );
    expect(rows).toEqual([
      { outcome: 'denied', metadata: { method: 'sso', reason: 'identity_unknown', connection_id: at.connection.id } },
    ]);
  });
});

describe('the start', () => {
  test('is the same for known and unknown addresses, and depends on the domain alone', async () => {
    const at = await place();
    await newMember(at, `ana@${at.domain}`);
    for (const name of ['ana', 'nobody']) {
      const away = await start(newBrowser(), `${name}@${at.domain}`);
      expect(new URL(String(away.headers.location)).origin).toBe('https://idp.acme.example');
    }
    const none = await newBrowser().get('/v1/auth/sso/start?email=ana%40nowhere.example', {
      accept: 'application/json',
    });
    expect([none.statusCode, none.json().error.code]).toEqual([404, 'admin_sso.not_available']);
    const page = await start(newBrowser(), 'ana@nowhere.example');
    expect([page.statusCode, page.body.includes('sso.no_provider')]).toEqual([404, true]);
    const wrong = await start(newBrowser(), 'nonsense');
    expect(wrong.statusCode).toBe(400);
    expect(wrong.body).toContain('The application sent you here with a request that we cannot accept');
    expect(wrong.body).toMatch(/<dd lang="en">[^<]*email/);
  });

  test('a disabled connection sends nobody to its provider', async () => {
    const at = await place({ status: 'disabled' });
    expect((await start(newBrowser(), `ana@${at.domain}`)).statusCode).toBe(404);
  });

  test('the older callback leads to the common one', async () => {
    const id = randomUUID();
    const answer = await newBrowser().get(`/v1/auth/sso/callback/${id}?state=a&code=b`);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `/sso/oidc/${id}/callback?state=a&code=b`]);
  });
});

test('the way to a provider is the same, and takes as long, for an unknown address', async () => {
  const at = await place();
  const known = `ana@${at.domain}`;
  await newMember(at, known);
  let count = 0;
  const sent = async (email: string) => {
    const away = await start(newBrowser(), email);
    const { origin, pathname } = new URL(String(away.headers.location));
    expect([away.statusCode, origin + pathname, names(away)]).toEqual([303, idp.fields.samlSsoUrl, ['sso']]);
  };
  await expectEqualTimes(
    () => sent(known),
    () => sent(`nobody-${count++}@${at.domain}`),
  );
});

test('a session lasts no longer than the provider says, including all that is refreshed or started by it', async () => {
  const at = await place();
  const email = `ana@${at.domain}`;
  const userId = await newMember(at, email);
  const began = api.clock.now;
  const browser = newBrowser();
  await walk(browser, email, { sessionNotOnOrAfter: new Date(began.getTime() + hours(2)) });
  const [session] = await rowsOf(api, 'select expires_at from user_sessions where user_id = $1', [userId]);
  expect(session).toEqual({ expires_at: new Date(began.getTime() + hours(2) + minutes(1)) });
  const after = async (ms: number) => {
    api.clock.now = new Date(began.getTime() + ms);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { cookie, origin: baseUrl };
    const answer = await api.app.inject({ method: 'POST', url: '/v1/auth/refresh', headers });
    for (const { name, value } of answer.cookies) browser.cookies.set(name, value);
    return answer.statusCode;
  };
  try {
    expect([await after(hours(2)), await after(hours(2) + minutes(1))]).toEqual([200, 401]);
  } finally {
    api.clock.now = began;
  }
});

test('no session begins that is over already, since the provider’s ended before an application was chosen', async () => {
  const at = await place();
  const email = `ana@${at.domain}`;
  const userId = await newMember(at, email);
  const application_id = await secondApplication(at);
  const began = api.clock.now;
  const sessionNotOnOrAfter = new Date(began.getTime() + minutes(2));
  const { selection_token } = (await walk(newBrowser(), email, { sessionNotOnOrAfter })).json().data;
  api.clock.now = new Date(began.getTime() + minutes(4));
  const payload = { selection_token, application_id };
  const chosen = await api.app
    .inject({ method: 'POST', url: '/v1/auth/select-application', payload })
    .finally(() => (api.clock.now = began));
  expect([outcomeOf(chosen), names(chosen)]).toEqual(['401', []]);
  expect(await rowsOf(api, 'select from user_sessions where user_id = $1', [userId])).toEqual([]);
});

describe('single logout', () => {
  const logoutOf = ({ connection }: Place, nameId: string, by = idp.key) => {
    const path = `/sso/saml/${connection.id}/slo`;
    const xml = logoutRequestXml({
      issuer: idp.issuer,
      destination: `${baseUrl}${path}`,
      issueInstant: api.clock.now,
      content: `<saml:NameID>${nameId}</saml:NameID>`,
    });
    return `${path}?${signedQuery('SAMLRequest', xml, by, { relayState: 'back' })}`;
  };
  test('begins with a sign-out here, and comes back', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    const browser = newBrowser();
    await walk(browser, email, { sessionIndex: '_anas' });
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const signOut = { method: 'POST', url: '/v1/auth/logout', headers: { cookie, origin: baseUrl } } as const;
    const out = await api.app.inject(signOut);
    expect([out.statusCode, names(out)]).toEqual([200, ['admin_refresh', 'admin_session']]);
    const link = out.json().data.redirect_to;
    expect(link).toMatch(/^http:\/\/localhost:3000\/sso\/leave\?token=[\w-]{43}$/);
    const sent = leavingIn(goingOnTo(await browser.get(link.replace(baseUrl, ''))));
    expect(sent).toMatchObject({ at: 'https://idp.acme.example/slo', nameId: email, sessionIndex: '_anas' });
    const path = `/sso/saml/${at.connection.id}/slo`;
    const xml = logoutResponseXml({
      issuer: idp.issuer,
      destination: `${baseUrl}${path}`,
      inResponseTo: sent.id,
      issueInstant: api.clock.now,
    });
    const query = signedQuery('SAMLResponse', xml, idp.key, { relayState: sent.relayState });
    const end = await browser.get(here(await browser.get(`${path}?${query}`)));
    expect([end.statusCode, end.body.includes('has not confirmed')]).toEqual([200, false]);
    // Nothing to end at the provider: the sign-out is as usual.
    expect((await api.app.inject(signOut)).statusCode).toBe(204);
  });

  test('of the provider ends what began by it, once, and answers', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    const browser = newBrowser();
    const { access_token: token } = (await walk(browser, email)).json().data;
    const me = () => api.app.inject({ url: '/v1/auth/me', headers: { authorization: `Bearer ${token}` } });
    expect((await me()).statusCode).toBe(200);
    const forged = await newBrowser().get(logoutOf(at, email, (await newSamlProvider()).key));
    expect([forged.statusCode, forged.body.includes('sso.signature_invalid')]).toEqual([403, true]);
    expect((await me()).statusCode).toBe(200);
    const url = logoutOf(at, email);
    const answer = await newBrowser().get(url);
    expect(answer.statusCode).toBe(303);
    expect(String(answer.headers.location)).toMatch(/^https:\/\/idp\.acme\.example\/slo\?SAMLResponse=/);
    expect(new URL(String(answer.headers.location)).searchParams.get('RelayState')).toBe('back');
    expect((await me()).statusCode).toBe(401);
    const cookie = `admin_refresh=${browser.cookies.get('admin_refresh')}`;
    const refreshed = await api.app.inject({
      method: 'POST',
      url: '/v1/auth/refresh',
      headers: { cookie, origin: baseUrl },
    });
    expect(refreshed.statusCode).toBe(401);
    expect((await newBrowser().get(url)).body).toContain('sso.replayed');
  });

  test('of the provider ends a sign-in that waits for the choice of an application', async () => {
    const at = await place();
    const email = `ana@${at.domain}`;
    await newMember(at, email);
    await secondApplication(at);
    const choose = async () => {
      const { selection_token, applications } = (await walk(newBrowser(), email)).json().data;
      const payload = { selection_token, application_id: applications[0].id };
      return () => api.app.inject({ method: 'POST', url: '/v1/auth/select-application', payload });
    };
    const [before, after] = [await choose(), await choose()];
    expect((await before()).statusCode).toBe(200);
    expect((await newBrowser().get(logoutOf(at, email))).statusCode).toBe(303);
    expect((await after()).statusCode).toBe(401);
  });
});
