import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { minutes, seconds } from '../../../src/platform/clock.js';
import { loopback } from '../../../src/platform/outbound/addresses.js';
import { here } from '../../support/answers.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { codeIn, enrollTotp } from '../../support/mfa.js';
import type { Browser } from '../../support/oauth/browser.js';
import { loggedOutUri, redirectUri } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';
import { type OpenIdProvider, signInThere, signOutThere, startOpenIdProvider } from '../../support/openid-provider.js';
import { goingOnTo, leavingIn, logoutRequestXml, logoutResponseXml, signedQuery } from '../../support/saml/logout.js';
import { posted, type ResponseParts, sign } from '../../support/saml/provider.js';
import { answerTo, giveSigningKey, newSamlProvider, type SamlProvider } from '../../support/saml/sign-in.js';
import { acmeAddress, failureIn, newSsoPlace, plannedConnections, type SsoPlace } from '../../support/sso.js';

const baseUrl = 'http://localhost:3000';
const planned = plannedConnections(baseUrl, 8);
let world: TestProvider;
let openId: OpenIdProvider;
let idp: SamlProvider;
beforeAll(async () => {
  openId = await startOpenIdProvider(planned);
  [world, idp] = await Promise.all([
    newProvider({ baseUrl, allowedNetworks: loopback, startsAt: new Date() }),
    newSamlProvider(),
  ]);
});
afterAll(async () => {
  await world.close();
  await openId.stop();
});

let used = 0;
async function place(
  type: 'saml' | 'oidc',
  overrides: Partial<SsoConnection> = {},
  settings: Partial<EnvironmentSettings> = {},
): Promise<SsoPlace> {
  const fields = type === 'saml' ? idp.fields : { id: planned.ids[used++] ?? uuidv7() };
  const made = await newSsoPlace(world, openId, { ...fields, ...overrides }, settings);
  if (type === 'saml') await giveSigningKey(world, made.connection);
  return made;
}

const pkce = newPkce();
/** Goes to the provider to sign in. */
async function sentAway(browser: Browser, { client, connection }: SsoPlace): Promise<string> {
  const query = authorizeUrl(client, { code_challenge: pkce.challenge }).replace('/oauth/authorize?', '');
  return String((await browser.get(`/oauth/sso?connection_id=${connection.id}&${query}`)).headers.location);
}

/** Returns from the provider, whose answer was accepted: the browser has to fetch the result. */
async function answeredBySaml(at: SsoPlace, changes: Partial<ResponseParts> = {}) {
  const browser = world.browser();
  const nameId = changes.nameId ?? acmeAddress();
  const { path, form } = answerTo(await sentAway(browser, at), idp, world.now(), { nameId, ...changes });
  const answered = await world.browser().post(path, form, { origin: 'https://idp.acme.example' });
  return { browser, nameId, goOn: () => browser.get(here(answered)) };
}
/** Signs in by SAML; returns the tokens. */
async function bySaml(at: SsoPlace, changes: Partial<ResponseParts> = {}) {
  const { browser, nameId, goOn } = await answeredBySaml(at, changes);
  const code = codeIn(await goOn());
  const tokens = (await redeem(world.app, at.client, { code, verifier: pkce.verifier, redirect: redirectUri })).json();
  return { browser, nameId, tokens };
}
const logoutUrl = ({ client }: SsoPlace, idToken: string) =>
  `/oauth/logout?${new URLSearchParams({
    client_id: client.clientId,
    id_token_hint: idToken,
    post_logout_redirect_uri: loggedOutUri,
    state: 'after',
  })}`;
/** Signs the same person in, in the same browser, by a mailed code; returns the tokens. */
async function byCode({ client }: SsoPlace, { browser, nameId: email }: { browser: Browser; nameId: string }) {
  const url = authorizeUrl(client, { code_challenge: pkce.challenge, prompt: 'login', method: 'code' });
  const sent = await browser.submit(await browser.get(url), { email });
  const code = codeIn(await browser.submit(sent, { code: await world.mailedCode('login') }));
  const tokens = (await redeem(world.app, client, { code, verifier: pkce.verifier, redirect: redirectUri })).json();
  return { browser, nameId: email, tokens };
}
/** Signs out, and follows the link to the provider; returns where that sends the browser. */
async function leave(browser: Browser, at: SsoPlace, idToken: string): Promise<string> {
  const out = await browser.get(logoutUrl(at, idToken));
  expect(here(out)).toMatch(/^\/sso\/leave\?token=[\w-]{43}$/);
  return goingOnTo(await browser.get(here(out)));
}
const isOpen = async (at: SsoPlace, { tokens }: { tokens: { refresh_token: string } }) => {
  const payload = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: at.client.clientId,
    refresh_token: tokens.refresh_token,
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return (await world.app.inject({ method: 'POST', url: '/oauth/token', payload, headers })).statusCode === 200;
};
const sloPath = ({ connection }: SsoPlace) => `/sso/saml/${connection.id}/slo`;
const answerQuery = (
  at: SsoPlace,
  sent: ReturnType<typeof leavingIn>,
  changes: Partial<Parameters<typeof logoutResponseXml>[0]> = {},
  by = idp.key,
) =>
  `${sloPath(at)}?${signedQuery(
    'SAMLResponse',
    logoutResponseXml({
      issuer: idp.issuer,
      destination: `${baseUrl}${sloPath(at)}`,
      inResponseTo: sent.id,
      issueInstant: world.now(),
      ...changes,
    }),
    by,
    { relayState: sent.relayState },
  )}`;
const after = `${loggedOutUri}?state=after`;
const unconfirmed = 'has not confirmed';

describe('a person who signed in by SAML and signs out', () => {
  test('is signed out here first, then at the provider, and arrives where they were going', async () => {
    const at = await place('saml');
    const ana = await bySaml(at, { sessionIndex: '_anas' });
    const sent = leavingIn(await leave(ana.browser, at, ana.tokens.id_token));
    expect(sent).toMatchObject({ at: 'https://idp.acme.example/slo', nameId: ana.nameId, sessionIndex: '_anas' });
    expect(await isOpen(at, ana)).toBe(false);
    const back = await ana.browser.get(answerQuery(at, sent));
    expect(here(await ana.browser.get(here(back)))).toBe(after);
    // Repeating it does no harm.
    expect(here(await ana.browser.get(here(await ana.browser.get(answerQuery(at, sent)))))).toBe(after);
  });

  test('arrives there after a question, and with an answer by form', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const query = { client_id: at.client.clientId, post_logout_redirect_uri: loggedOutUri };
    const asked = await ana.browser.get(`/oauth/logout?${new URLSearchParams(query)}`);
    const leaving = await ana.browser.submit(asked, { confirm: 'yes' }, { origin: baseUrl });
    const sent = leavingIn(goingOnTo(await ana.browser.get(here(leaving))));
    const xml = logoutResponseXml({
      issuer: idp.issuer,
      destination: `${baseUrl}${sloPath(at)}`,
      inResponseTo: sent.id,
      issueInstant: world.now(),
    });
    const form = { SAMLResponse: posted(sign(xml, 'LogoutResponse', idp.key)), RelayState: sent.relayState };
    const back = await world.browser().post(sloPath(at), form, { origin: 'https://idp.acme.example' });
    expect(here(await ana.browser.get(here(back)))).toBe(loggedOutUri);
  });

  test('is told, with a link on, if the answer is forged, of another request, or a refusal', async () => {
    const at = await place('saml');
    const stranger = await newSamlProvider();
    for (const [changes, by] of [
      [{}, stranger.key],
      [{ inResponseTo: `_${uuidv7()}` }, idp.key],
      [{ status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }, idp.key],
    ] as const) {
      const ana = await bySaml(at);
      const sent = leavingIn(await leave(ana.browser, at, ana.tokens.id_token));
      const page = await ana.browser.get(here(await ana.browser.get(answerQuery(at, sent, changes, by))));
      expect(page.statusCode).toBe(200);
      expect(page.body).toContain(unconfirmed);
      expect(page.body).toContain(`href="${after}"`);
    }
  });

  test('and returns without an answer, is told so', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const out = await ana.browser.get(logoutUrl(at, ana.tokens.id_token));
    await ana.browser.get(here(out));
    const again = await ana.browser.get(here(out));
    expect(again.body).toContain(unconfirmed);
    // In another browser, or too late, the answer does not reveal where they were going.
    world.wait(minutes(11));
    for (const page of [await ana.browser.get(here(out)), await world.browser().get(here(out))]) {
      expect([page.statusCode, page.body.includes('href="http')]).toEqual([200, false]);
    }
  });

  test('and follows the link too late, is not redirected', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const out = await ana.browser.get(logoutUrl(at, ana.tokens.id_token));
    world.wait(minutes(10));
    const page = await ana.browser.get(here(out));
    expect([page.statusCode, page.headers.location, page.body.includes('href="http')]).toEqual([200, undefined, false]);
    expect(page.body).not.toContain(idp.fields.samlSloUrl);
  });

  test('is redirected nowhere by what a provider, or another party, sends', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const sent = leavingIn(await leave(ana.browser, at, ana.tokens.id_token));
    for (const relayState of ['https://evil.example', 'x'.repeat(43), '']) {
      const page = await ana.browser.get(answerQuery(at, { ...sent, relayState }));
      expect([page.statusCode, page.headers.location, page.body.includes('href="http')]).toEqual([
        200,
        undefined,
        false,
      ]);
    }
    // The answer in another browser than the one that was sent.
    const back = await world.browser().get(answerQuery(at, sent));
    const page = await world.browser().get(here(back));
    expect([page.statusCode, page.body.includes(loggedOutUri)]).toEqual([200, false]);
    // A RelayState of one connection at another.
    const other = await place('saml');
    expect((await ana.browser.get(answerQuery(other, sent))).headers.location).toBeUndefined();
  });

  test('signs out at the provider also after another sign-in in between, and once after two by it', async () => {
    const at = await place('saml', {}, { emailOtpLoginEnabled: true });
    const ana = await bySaml(at, { sessionIndex: '_first' });
    const { path, form } = answerTo(await sentAway(ana.browser, at), idp, world.now(), {
      nameId: ana.nameId,
      sessionIndex: '_second',
    });
    const answered = await world.browser().post(path, form, { origin: 'https://idp.acme.example' });
    await ana.browser.get(here(answered));
    const { tokens } = await byCode(at, ana);
    const sent = leavingIn(await leave(ana.browser, at, tokens.id_token));
    expect(sent).toMatchObject({ nameId: ana.nameId, sessionIndex: '_second' });
    expect(await isOpen(at, ana)).toBe(false);
    const back = await ana.browser.get(answerQuery(at, sent));
    expect(here(await ana.browser.get(here(back)))).toBe(after);
  });

  test('signs out at one provider after the other, each once, also if the browser comes twice for the second', async () => {
    const places = [await place('saml'), await place('saml')];
    await Promise.all(places.map((at) => bySaml(at)));
    const sessions = await world.query<{ id: string }>('select id from sso_sessions where connection_id = any ($1)', [
      places.map(({ connection }) => connection.id),
    ]);
    const onward = { redirectUri: after, homeUrl: null, clientId: null, uiLocales: null };
    const token = await world.sso.leaving.begin(
      sessions.map(({ id }) => id),
      onward,
    );
    const browser = world.browser();
    const askedFor = ({ xml }: { xml: string }) => places.find(({ connection }) => xml.includes(connection.id))!;
    const answering = async (sent: ReturnType<typeof leavingIn>, changes = {}) =>
      here(await browser.get(answerQuery(askedFor(sent), sent, changes)));
    const first = leavingIn(goingOnTo(await browser.get(`/sso/leave?token=${token}`)));
    const back = await answering(first);
    const { both } = await world.db.transaction('system', async (tx) => {
      await tx.query('select from sso_sessions where connection_id = any ($1) for update', [
        places.map(({ connection }) => connection.id),
      ]);
      const both = Promise.all([browser.get(back), browser.get(back)]);
      await untilWaiting(world.database.ownerUrl, 2); // by then both have read that the first provider answered
      return { both };
    });
    const pages = await both;
    expect(pages.map(({ body }) => body.includes(unconfirmed)).sort()).toEqual([false, true]);
    const away = pages.find(({ body }) => !body.includes(unconfirmed))!;
    const second = leavingIn(goingOnTo(away));
    expect(askedFor(second)).not.toBe(askedFor(first));
    // Nothing was taken for the second one's answer: its refusal counts.
    const refused = await answering(second, { status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' });
    expect((await browser.get(refused)).body).toContain(unconfirmed);
  });

  test('signs out at the provider also after another sign-in in between, if the application signs out by the API', async () => {
    const at = await place('saml', {}, { emailOtpLoginEnabled: true });
    const ana = await bySaml(at);
    const { tokens } = await byCode(at, ana);
    const payload = { client_id: at.client.clientId, refresh_token: tokens.refresh_token };
    const out = await world.app.inject({ method: 'POST', url: '/v1/identity/auth/logout', payload });
    const link = String(out.json().data?.redirect_to).replace(baseUrl, '');
    expect(leavingIn(goingOnTo(await ana.browser.get(link)))).toMatchObject({ nameId: ana.nameId });
    expect(await isOpen(at, ana)).toBe(false);
  });

  test('signs out at the provider of a session that only the hint names, if the browser had that session', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    // Tokens of applications outlive it, and so does the hint.
    await world.query(`update sessions set expires_at = $2 where sso_connection_id = $1`, [
      at.connection.id,
      world.now(),
    ]);
    expect(leavingIn(await leave(ana.browser, at, ana.tokens.id_token))).toMatchObject({ nameId: ana.nameId });
    expect(await isOpen(at, ana)).toBe(false);
  });

  test.each([[false], [true]])(
    'is signed out here alone if another person’s browser brings the hint (third-party application: %s)',
    async (consentRequired) => {
      const at = await place('saml');
      const [ana, ben, cai] = [await bySaml(at), await bySaml(at), await bySaml(at)];
      await world.query('update oauth_clients set consent_required = $2 where id = $1', [
        at.client.id,
        consentRequired,
      ]);
      world.wait(seconds(2)); // clients are cached
      expect(here(await world.browser().get(logoutUrl(at, ana.tokens.id_token)))).toBe(after);
      expect(await isOpen(at, ana)).toBe(false);
      // Another person's session is asked about first: then only that person's provider is left.
      const question = await ben.browser.get(logoutUrl(at, cai.tokens.id_token));
      const leaving = await ben.browser.submit(question, { confirm: 'yes' }, { origin: baseUrl });
      const sent = leavingIn(goingOnTo(await ben.browser.get(here(leaving))));
      expect(sent).toMatchObject({ nameId: ben.nameId });
      const back = await ben.browser.get(answerQuery(at, sent));
      expect(here(await ben.browser.get(here(back)))).toBe(after);
      expect([await isOpen(at, ben), await isOpen(at, cai)]).toEqual([false, false]);
    },
  );

  test('stays signed in at the provider if the connection says so, or has no address for it', async () => {
    for (const overrides of [
      { singleLogoutEnabled: false },
      { samlSloUrl: null },
      { status: 'auto_disabled' },
    ] as const) {
      const at = await place('saml');
      const ana = await bySaml(at);
      await world.db.transaction('system', (tx) =>
        tx.update('sso_connections', { id: at.connection.id }, overrides as never),
      );
      expect(here(await ana.browser.get(logoutUrl(at, ana.tokens.id_token)))).toBe(after);
      expect(await isOpen(at, ana)).toBe(false);
    }
  });
});

describe('pages of a client’s own', () => {
  const signOut = (at: SsoPlace, refreshToken: string, more: object = {}) =>
    world.app.inject({
      method: 'POST',
      url: '/v1/identity/auth/logout',
      payload: { client_id: at.client.clientId, refresh_token: refreshToken, ...more },
    });

  test('get where to send the browser', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const unregistered = { post_logout_redirect_uri: 'https://evil.example' };
    expect((await signOut(at, ana.tokens.refresh_token, unregistered)).statusCode).toBe(400);
    const out = await signOut(at, ana.tokens.refresh_token, { post_logout_redirect_uri: loggedOutUri });
    expect([out.statusCode, await isOpen(at, ana)]).toEqual([200, false]);
    const sent = await ana.browser.get(out.json().data.redirect_to.replace(baseUrl, ''));
    const back = await ana.browser.get(answerQuery(at, leavingIn(goingOnTo(sent))));
    expect(here(await ana.browser.get(here(back)))).toBe(loggedOutUri);
    expect((await signOut(at, ana.tokens.refresh_token)).statusCode).toBe(204);
  });

  test('of a third-party application learn nothing of the provider, and cannot use their token for it', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    await world.query('update oauth_clients set consent_required = true where id = $1', [at.client.id]);
    world.wait(seconds(2)); // clients are cached
    const { refresh_token: refreshToken, access_token: token } = ana.tokens;
    for (const payload of [undefined, { client_id: at.client.clientId, refresh_token: refreshToken }]) {
      const headers = { authorization: `Bearer ${token}` };
      const refused = await world.app.inject({ method: 'POST', url: '/v1/identity/auth/logout', headers, payload });
      expect([refused.statusCode, await isOpen(at, ana)]).toEqual([403, true]);
    }
    const out = await signOut(at, refreshToken);
    expect([out.statusCode, out.body]).toEqual([204, '']);
    expect(
      await world.query('select from sso_logouts where onward->>$1 = $2', ['clientId', at.client.clientId]),
    ).toEqual([]);
    expect(await isOpen(at, ana)).toBe(false);
  });
});

describe('a provider’s own sign-out', () => {
  const request = (at: SsoPlace, nameId: string, content = '') =>
    logoutRequestXml({
      issuer: idp.issuer,
      destination: `${baseUrl}${sloPath(at)}`,
      issueInstant: world.now(),
      content: `<saml:NameID>${nameId}</saml:NameID>${content}`,
    });
  const send = (at: SsoPlace, xml: string, by = idp.key) =>
    world.browser().get(`${sloPath(at)}?${signedQuery('SAMLRequest', xml, by)}`);

  test('ends what began in the session that it names, and everything if it names none that is known', async () => {
    const at = await place('saml');
    const nameId = acmeAddress();
    const [one, two] = [
      await bySaml(at, { nameId, sessionIndex: '_one' }),
      await bySaml(at, { nameId, sessionIndex: '_two' }),
    ];
    await send(at, request(at, nameId, '<samlp:SessionIndex>_one</samlp:SessionIndex>'));
    expect([await isOpen(at, one), await isOpen(at, two)]).toEqual([false, true]);
    await send(at, request(at, nameId, '<samlp:SessionIndex>_never</samlp:SessionIndex>'));
    expect(await isOpen(at, two)).toBe(false);
  });

  test('is known for as long as an application may hold what it gave', async () => {
    const at = await place('saml', {}, { sessionTtlSeconds: 7 * 86_400, refreshTokenMaxTtlSeconds: 365 * 86_400 });
    await bySaml(at, { sessionIndex: '_anas' });
    const kept = await world.query(
      'select extract(day from expires_at - created_at)::int as days from sso_sessions where connection_id = $1',
      [at.connection.id],
    );
    expect(kept).toEqual([{ days: 372 }]);
  });

  test.each([
    ['names none of the sessions', ''],
    ['names the session', '<samlp:SessionIndex>_anas</samlp:SessionIndex>'],
  ])('that %s ends its tokens also if the session went on by a mailed code', async (_name, content) => {
    const at = await place('saml', {}, { emailOtpLoginEnabled: true });
    const ana = await bySaml(at, { sessionIndex: '_anas' });
    const again = await byCode(at, ana);
    const elsewhere = await byCode(at, { ...ana, browser: world.browser() });
    expect([await isOpen(at, ana), await isOpen(at, again)]).toEqual([true, true]);
    expect((await send(at, request(at, ana.nameId, content))).statusCode).toBe(303);
    // With the session, which would give the application new tokens without a question.
    expect([await isOpen(at, ana), await isOpen(at, again), await isOpen(at, elsewhere)]).toEqual([false, false, true]);
  });

  test('that names the earlier session ends what went on by another one of the provider’s', async () => {
    const at = await place('saml');
    const ana = await bySaml(at, { sessionIndex: '_one' });
    const { path, form } = answerTo(await sentAway(ana.browser, at), idp, world.now(), {
      nameId: ana.nameId,
      sessionIndex: '_two',
    });
    const answered = await world.browser().post(path, form, { origin: 'https://idp.acme.example' });
    expect((await ana.browser.get(here(answered))).statusCode).toBe(303);
    await send(at, request(at, ana.nameId, '<samlp:SessionIndex>_one</samlp:SessionIndex>'));
    expect(await isOpen(at, ana)).toBe(false);
  });

  test('leaves nothing to sign out of for a person who is on the way there', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const out = await ana.browser.get(logoutUrl(at, ana.tokens.id_token));
    await send(at, request(at, ana.nameId));
    expect(here(await ana.browser.get(here(out)))).toBe(after);
  });

  test('ends a sign-in whose browser has not fetched the answer yet', async () => {
    const at = await place('saml');
    const nameId = acmeAddress();
    const coming = (sessionIndex: string, who = nameId) => answeredBySaml(at, { nameId: who, sessionIndex });
    const [one, two, other] = [await coming('_one'), await coming('_two'), await coming('_one', acmeAddress())];
    await send(at, request(at, nameId, '<samlp:SessionIndex>_one</samlp:SessionIndex>'));
    expect(failureIn(await one.goOn())).toEqual([403, 'sso.provider_error']);
    expect((await two.goOn()).statusCode).toBe(303);
    expect((await other.goOn()).statusCode).toBe(303);
    const three = await coming('_three');
    await send(at, request(at, nameId));
    expect(failureIn(await three.goOn())).toEqual([403, 'sso.provider_error']);
    expect((await (await coming('_three')).goOn()).statusCode).toBe(303); // signed in again since
  });

  test('ends such a sign-in, whatever its session, if it names none that is known; and that alone if it names it', async () => {
    const at = await place('saml');
    const nameId = acmeAddress();
    const coming = await answeredBySaml(at, { nameId, sessionIndex: '_coming' });
    await send(at, request(at, nameId, '<samlp:SessionIndex>_never</samlp:SessionIndex>'));
    expect(failureIn(await coming.goOn())).toEqual([403, 'sso.provider_error']);
    const one = await bySaml(at, { nameId, sessionIndex: '_one' });
    const two = await answeredBySaml(at, { nameId, sessionIndex: '_two' });
    await send(at, request(at, nameId, '<samlp:SessionIndex>_two</samlp:SessionIndex>'));
    expect(failureIn(await two.goOn())).toEqual([403, 'sso.provider_error']);
    expect(await isOpen(at, one)).toBe(true);
  });

  test('ends a session that is being created at the same moment', async () => {
    const at = await place('saml');
    for (let tries = 0; tries < 12; tries += 1) {
      const ana = await answeredBySaml(at);
      await Promise.all([ana.goOn(), wait(tries * 3).then(() => send(at, request(at, ana.nameId)))]);
      const left = `select s.id from sessions s join identities i on i.id = s.identity_id
        where i.email = $1 and s.revoked_at is null`;
      expect(await world.query(left, [ana.nameId])).toEqual([]);
    }
  });

  test('leaves nothing by which a session could begin, like the disabling of a connection', async () => {
    const [at, disabled] = [await place('saml'), await place('saml')];
    for (const [end, where] of [
      [({ nameId }: { nameId: string }) => send(at, request(at, nameId)), at],
      [
        () => world.query(`update sso_connections set status = 'disabled' where id = $1`, [disabled.connection.id]),
        disabled,
      ],
    ] as const) {
      const ana = await bySaml(where);
      const [began] = await world.query<{ identity_id: string; sso_session_id: string }>(
        `select identity_id, sso_session_id from sessions where sso_connection_id = $1`,
        [where.connection.id],
      );
      const signIn = () =>
        world.provider.sessions.signIn({
          scope: where.environment,
          identityId: began?.identity_id ?? '',
          amr: [],
          acr: 'urn:gatehouse:aal1',
          ssoConnectionId: where.connection.id,
          ssoSessionId: began?.sso_session_id ?? '',
          lifeSeconds: 60,
          browser: null,
          ipAddress: '192.0.2.1',
          userAgent: null,
        });
      await signIn();
      await end(ana);
      await expect(signIn()).rejects.toMatchObject({ code: 'auth.invalid_credentials' });
    }
  });

  test('a step-up strengthens a session whose connection was disabled since, and no new session begins by it', async () => {
    const at = await place('saml');
    const ana = await bySaml(at);
    const [began] = await world.query<{ id: string; identity_id: string; sso_session_id: string }>(
      `select id, identity_id, sso_session_id from sessions where sso_connection_id = $1`,
      [at.connection.id],
    );
    const again = (browser: string | null, more: { goesOn?: boolean } = {}) =>
      world.provider.sessions.signIn({
        scope: at.environment,
        identityId: began?.identity_id ?? '',
        amr: ['otp', 'mfa'],
        acr: 'urn:gatehouse:aal2',
        ssoConnectionId: at.connection.id,
        ssoSessionId: began?.sso_session_id ?? '',
        lifeSeconds: 60,
        browser,
        ipAddress: '192.0.2.1',
        userAgent: null,
        ...more,
      });
    await world.query(`update sso_connections set status = 'disabled' where id = $1`, [at.connection.id]);
    const cookie = ana.browser.cookies.get('hosted_session') as string;
    const stronger = await again(cookie, { goesOn: true });
    expect(stronger.session).toMatchObject({ id: began?.id, acr: 'urn:gatehouse:aal2' });
    const refused = { code: 'auth.invalid_credentials' };
    await expect(again(cookie)).rejects.toMatchObject(refused); // the earlier cookie is invalid
    await expect(again(null)).rejects.toMatchObject(refused);
    const ids = await world.query('select id from sessions where identity_id = $1', [began?.identity_id]);
    expect(ids).toEqual([{ id: began?.id }]);
  });

  test('ends a sign-in that waits for its second factor', async () => {
    const at = await place('saml', {}, { mfaPolicy: 'optional' });
    async function challenged() {
      const { nameId } = await bySaml(at);
      const [ana] = await world.query<{ id: string; email: string }>(
        'select id, email from identities where email = $1',
        [nameId],
      );
      const totp = await enrollTotp(world, at.environment, ana as { id: string; email: string });
      const browser = world.browser();
      const { path, form } = answerTo(await sentAway(browser, at), idp, world.now(), { nameId });
      const answered = await world.browser().post(path, form, { origin: 'https://idp.acme.example' });
      const page = await browser.get(here(answered));
      return { nameId, goOn: async () => (await browser.submit(page, { code: totp.code() })).statusCode };
    }
    const [ana, ben] = [await challenged(), await challenged()];
    await send(at, request(at, ana.nameId));
    expect([await ana.goOn(), await ben.goOn()]).toEqual([400, 303]);
  });

  test('by a transient NameID ends what began with it, whatever its session index', async () => {
    const at = await place('saml');
    const format = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"';
    const by = (nameId: string, address = acmeAddress()) =>
      bySaml(at, {
        nameId,
        nameIdAttributes: format,
        sessionIndex: '1',
        attributes: { mail: [address], 'urn:oasis:names:tc:SAML:attribute:subject-id': [address] },
      });
    const hers = acmeAddress();
    const [one, two, other] = [await by('_one', hers), await by('_two', hers), await by('_other')];
    const states = async () => [await isOpen(at, one), await isOpen(at, two), await isOpen(at, other)];
    const named = (value: string) =>
      request(at, '')
        .replace('<saml:NameID>', `<saml:NameID${format}>${value}`)
        .replace('</samlp:LogoutRequest>', '<samlp:SessionIndex>1</samlp:SessionIndex></samlp:LogoutRequest>');
    expect((await send(at, named('_never'))).statusCode).toBe(303);
    expect(await states()).toEqual([true, true, true]);
    await send(at, named('_one'));
    expect(await states()).toEqual([false, true, true]);
  });

  test('ends nothing if it is forged, repeated, late, or about another connection’s person', async () => {
    const [at, other, stranger] = [await place('saml'), await place('saml'), await newSamlProvider()];
    const ana = await bySaml(at);
    const xml = request(at, ana.nameId);
    const codeOf = (page: LightMyRequestResponse) => /<dd class="code">sso\.([a-z_]+)</.exec(page.body)?.[1];
    expect(codeOf(await send(at, xml, stranger.key))).toBe('signature_invalid');
    const unsigned = signedQuery('SAMLRequest', xml, idp.key).replace(/&SigAlg=.*/, '');
    const refused = await world.browser().get(`${sloPath(at)}?${unsigned}`);
    expect([codeOf(refused), refused.body]).toEqual(['unsigned', expect.stringContaining('may still be signed in')]);
    // The same provider, and the same NameID, but of another customer's connection.
    await send(other, request(other, ana.nameId));
    expect(codeOf(await send(other, xml))).toBe('destination_mismatch');
    world.wait(minutes(7));
    expect(codeOf(await send(at, xml))).toBe('expired');
    expect(await isOpen(at, ana)).toBe(true);
    const now = request(at, acmeAddress());
    expect((await send(at, now)).statusCode).toBe(303);
    expect(codeOf(await send(at, now))).toBe('replayed');
    expect(await isOpen(at, ana)).toBe(true);
  });
});

describe('a person who signed in by OpenID Connect and signs out', () => {
  async function byOpenId(at: SsoPlace, jar: Map<string, string>, login = `ana-${uuidv7()}`) {
    openId.people.set(login, { email: `${login}@acme.example`, email_verified: true });
    const browser = world.browser();
    const back = await signInThere(await sentAway(browser, at), login, jar);
    const completed = await browser.get(here(await browser.get(back.replace(baseUrl, ''))));
    const tokens = (
      await redeem(world.app, at.client, { code: codeIn(completed), verifier: pkce.verifier, redirect: redirectUri })
    ).json();
    return { browser, login, tokens };
  }

  test('is signed out at a real provider as well, and arrives where they were going', async () => {
    const at = await place('oidc');
    const jar = openId.newJar();
    const ana = await byOpenId(at, jar);
    const away = await leave(ana.browser, at, ana.tokens.id_token);
    expect(new URL(away).searchParams.get('id_token_hint')).toBeTruthy();
    const back = await signOutThere(away, jar);
    expect(back).toContain(`/sso/oidc/${at.connection.id}/signed-out?state=`);
    expect(here(await ana.browser.get(here(await ana.browser.get(back.replace(baseUrl, '')))))).toBe(after);
    expect(await isOpen(at, ana)).toBe(false);
    // The provider does not recognize them any more: it asks who they are.
    const next = await fetch(await sentAway(ana.browser, at), {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    expect(next.headers.get('location')).toContain('/interaction/');
  });

  test('is signed out by a logout token in what began in the provider’s ended session, and only there', async () => {
    const at = await place('oidc');
    const [work, home] = [openId.newJar(), openId.newJar()];
    const ana = await byOpenId(at, work);
    const other = await byOpenId(at, home, ana.login);
    const endSession = `${openId.issuer}/session/end?client_id=${openId.clientId}`;
    await signOutThere(endSession, work);
    world.wait(Date.now() - world.now().getTime()); // the token is good for two minutes of the provider's clock
    const told = () => openId.logoutTokens.at(-1) ?? '';
    const token = told();
    const path = `/sso/oidc/${at.connection.id}/backchannel-logout`;
    const say = (logout_token: string, to = path) => world.browser().post(to, { logout_token });
    const wrong = await place('oidc', { oidcClientId: 'another' });
    for (const [sent, to] of [
      [`${token.slice(0, -8)}AAAAAAAA`, path],
      [ana.tokens.id_token, path],
      ['x', path],
      [token, `/sso/oidc/${wrong.connection.id}/backchannel-logout`],
      [token, `/sso/oidc/${uuidv7()}/backchannel-logout`],
      ['', path],
    ] as const) {
      const refused = await say(sent, to);
      expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_request']);
      expect(refused.headers['cache-control']).toBe('no-store');
    }
    expect(await isOpen(at, ana)).toBe(true);
    const done = await say(token);
    expect([done.statusCode, done.body, done.headers['cache-control']]).toEqual([200, '', 'no-store']);
    expect([await isOpen(at, ana), await isOpen(at, other)]).toEqual([false, true]);
    const [event] = await world.query<{ metadata: object; actor_type: string }>(
      `select metadata, actor_type from events where action = 'identity.sessions_revoked'
       and resource_id::text = (select id::text from identities where email = $1)`,
      [`${ana.login}@acme.example`],
    );
    expect(event).toMatchObject({ actor_type: 'system', metadata: { reason: 'provider_logout' } });
    // When a person signs out here first, the provider still sends its logout: it ends nothing else of theirs.
    const third = await byOpenId(at, work, ana.login);
    await signOutThere(await leave(third.browser, at, third.tokens.id_token), work);
    expect((await say(told())).statusCode).toBe(200);
    expect(await isOpen(at, other)).toBe(true);
  });

  test('is signed out by a logout token of a session from before they left the organization and came back', async () => {
    const at = await place('oidc');
    const [work, home] = [openId.newJar(), openId.newJar()];
    const ana = await byOpenId(at, work);
    await world.query('delete from organization_members where organization_id = $1', [at.organization.id]);
    const again = await byOpenId(at, home, ana.login);
    await signOutThere(`${openId.issuer}/session/end?client_id=${openId.clientId}`, work);
    world.wait(Date.now() - world.now().getTime());
    const logout_token = openId.logoutTokens.at(-1) ?? '';
    const path = `/sso/oidc/${at.connection.id}/backchannel-logout`;
    expect((await world.browser().post(path, { logout_token })).statusCode).toBe(200);
    expect([await isOpen(at, ana), await isOpen(at, again)]).toEqual([false, true]);
  });

  test('is signed out once by a logout token that is sent twice, and both are answered alike', async () => {
    const at = await place('oidc');
    const ana = await byOpenId(at, openId.newJar());
    world.wait(Date.now() - world.now().getTime());
    const logout_token = await openId.signsOutEverywhere(ana.login);
    const path = `/sso/oidc/${at.connection.id}/backchannel-logout`;
    const say = async () => (await world.browser().post(path, { logout_token })).statusCode;
    expect(await Promise.all([say(), say()])).toEqual([200, 200]);
    expect(await isOpen(at, ana)).toBe(false);
    const since = await byOpenId(at, openId.newJar(), ana.login);
    expect([await say(), await isOpen(at, since)]).toEqual([200, true]);
  });

  test('is redirected nowhere by a state of another browser, of nobody, or of another connection', async () => {
    const [at, other] = [await place('oidc'), await place('oidc')];
    const ana = await byOpenId(at, openId.newJar());
    const away = await leave(ana.browser, at, ana.tokens.id_token);
    const state = new URL(away).searchParams.get('state') ?? '';
    const path = (connection: SsoConnection, sent: string) => `/sso/oidc/${connection.id}/signed-out?state=${sent}`;
    for (const url of [path(other.connection, state), path(at.connection, 'x'.repeat(43)), path(at.connection, '')]) {
      expect((await ana.browser.get(url)).headers.location).toBeUndefined();
    }
    const stranger = world.browser();
    const page = await stranger.get(here(await stranger.get(path(at.connection, state))));
    expect([page.statusCode, page.body.includes(loggedOutUri)]).toEqual([200, false]);
  });

  test('is told so if the provider cannot be asked', async () => {
    const at = await place('oidc');
    const ana = await byOpenId(at, openId.newJar());
    await world.db.transaction('system', (tx) =>
      tx.update('sso_connections', { id: at.connection.id }, { oidcDiscoveryUrl: 'http://127.0.0.1:9' } as never),
    );
    const out = await ana.browser.get(logoutUrl(at, ana.tokens.id_token));
    const page = await ana.browser.get(here(out));
    expect(page.body).toContain(unconfirmed);
    expect(page.body).toContain(`href="${after}"`);
    expect(await isOpen(at, ana)).toBe(false);
  });
});
