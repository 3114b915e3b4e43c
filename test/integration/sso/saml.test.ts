import { randomUUID, webcrypto } from 'node:crypto';
import { jest } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { decodeJwt } from 'jose';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { minutes } from '../../../src/platform/clock.js';
import { here } from '../../support/answers.js';
import { interleaved } from '../../support/interleaving.js';
import { codeIn } from '../../support/mfa.js';
import type { Browser } from '../../support/oauth/browser.js';
import { redirectUri } from '../../support/oauth/environment.js';
import { newProvider, type TestProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, newPkce } from '../../support/oauth/sign-in.js';
import { redeem } from '../../support/oauth/tokens.js';
import { encrypted } from '../../support/saml/encryption.js';
import {
  assertionXml,
  newProviderKey,
  type ProviderKey,
  partsOf,
  posted,
  type ResponseParts,
  responseXml,
  sign,
  signedResponse,
} from '../../support/saml/provider.js';
import { answerTo, askedIn, giveSigningKey, newSamlProvider, type SamlProvider } from '../../support/saml/sign-in.js';
import { acmeAddress, failureIn, newSsoPlace, reasonsAt, type SsoPlace } from '../../support/sso.js';
import { statementsOf } from '../../support/statements.js';

const baseUrl = 'http://localhost:3000';
let world: TestProvider;
let idp: SamlProvider;
beforeAll(async () => {
  [world, idp] = await Promise.all([newProvider({ baseUrl }), newSamlProvider()]);
});
afterAll(() => world.close());

/** Creates a place with a SAML provider; with or without a key that signs our requests. */
async function place(overrides: Partial<SsoConnection> = {}, { hasKey = true } = {}): Promise<SsoPlace> {
  const made = await newSsoPlace(world, null, { ...idp.fields, ...overrides });
  if (hasKey) await giveSigningKey(world, made.connection);
  return made;
}

const pkce = newPkce();
async function sendAway(browser: Browser, { client, organization }: SsoPlace): Promise<string> {
  const url = authorizeUrl(client, { organization: organization.slug, code_challenge: pkce.challenge });
  const away = await browser.get(url);
  expect(away.statusCode).toBe(303);
  return String(away.headers.location);
}
/** Posts as the provider's page has a browser do: without any cookie, from the provider's site. */
const post = (path: string, form: Record<string, string>) =>
  world.browser().post(path, form, { origin: 'https://idp.acme.example' });
/** Signs in; returns the answer of `/sso/complete`. */
async function walk(
  at: SsoPlace,
  changes: Partial<ResponseParts> = {},
  browser = world.browser(),
  respond = signedResponse,
) {
  const { path, form } = answerTo(await sendAway(browser, at), idp, world.now(), changes, respond);
  const answered = await post(path, form);
  expect(answered.statusCode).toBe(303);
  return browser.get(here(answered));
}

describe('sign-in by SAML', () => {
  test('a new person signs in by their organization, and the client gets a code', async () => {
    const at = await place({}, { hasKey: false });
    const email = acmeAddress();
    const code = codeIn(await walk(at, { nameId: email, contextClass: 'https://refeds.org/profile/mfa' }));
    const tokens = (
      await redeem(world.app, at.client, { code, verifier: pkce.verifier, redirect: redirectUri })
    ).json();
    expect(decodeJwt(tokens.id_token)).toMatchObject({ email, email_verified: true, amr: ['mfa'] });
  });

  test('the person who began is never signed in by an answer that another person brought for them', async () => {
    const at = await place();
    for (const stop of [null, 1, 2, 3, 4]) {
      const mallory = world.browser();
      const away = await sendAway(mallory, at);
      const { path, form } = answerTo(away, idp, world.now(), { nameId: acmeAddress() });
      // Our request to the provider contains the request's id (SAML 2.0 Core §3.2.1).
      const complete = `/sso/complete?request=${String(askedIn(away).id).slice(1)}`;
      const come = () => mallory.get(complete);
      const bring = () => post(path, form);
      const [came, brought] =
        stop === null ? [null, await bring()] : await interleaved(world.database.ownerUrl, stop, come, bring);
      expect(String(came?.headers.location)).not.toMatch(/[?&]code=/);
      expect(failureIn(await come())).toEqual([400, 'sso.stale']);
      // Nor by sending another answer of their own for the same request.
      const own = here(await post(path, { ...form, SAMLResponse: `${form.SAMLResponse} ` }));
      expect(own.startsWith(complete)).toBe(true);
      expect(failureIn(await mallory.get(own))).toEqual([400, 'sso.stale']);
      expect(failureIn(await world.browser().get(here(brought)))).toEqual([400, 'sso.stale']);
    }
  });

  test('a browser that did not learn that its answer was accepted can bring it again', async () => {
    const at = await place();
    const browser = world.browser();
    const { path, form } = answerTo(await sendAway(browser, at), idp, world.now(), { nameId: acmeAddress() });
    const [lost, again] = [here(await post(path, form)), here(await post(path, form))];
    expect(again).toBe(lost);
    expect(codeIn(await browser.get(again))).toBeTruthy();
  });

  test('the same person is the same Identity the next time, also under another address', async () => {
    const at = await place();
    const persistent = {
      nameId: randomUUID(),
      nameIdAttributes: ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"',
    };
    const subjectOf = async (mail: string) => {
      const code = codeIn(await walk(at, { ...persistent, attributes: { mail: [mail] } }));
      const tokens = (
        await redeem(world.app, at.client, { code, verifier: pkce.verifier, redirect: redirectUri })
      ).json();
      return decodeJwt(tokens.id_token).sub;
    };
    expect(await subjectOf(acmeAddress())).toBe(await subjectOf(acmeAddress()));
  });

  test('the new owner of an address is refused if a pairwise id says that they are somebody else', async () => {
    const at = await place();
    const mail = acmeAddress();
    const named = (id: string) => {
      const format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
      const attributes = { mail: [mail], 'urn:oasis:names:tc:SAML:attribute:pairwise-id': [id] };
      return walk(at, { nameId: `_${randomUUID()}`, nameIdAttributes: ` Format="${format}"`, attributes });
    };
    const [ana, berta] = ['7f3a@acme.example', 'b21c@acme.example'];
    expect(codeIn(await named(ana))).toBeTruthy();
    expect(failureIn(await named(berta))).toEqual([403, 'sso.subject_mismatch']);
    expect(codeIn(await named(ana))).toBeTruthy();
    // Before it sent such ids, the provider named the person by this address.
    await world.query('update sso_links set subject = $2 where connection_id = $1', [
      at.connection.id,
      mail.toUpperCase(),
    ]);
    expect(codeIn(await named(berta))).toBeTruthy();
    expect(codeIn(await named(berta.toUpperCase()))).toBeTruthy(); // such ids are compared regardless of case
  });

  test('a person whose address changes is known by it if the NameID is an address, whatever a subject id says', async () => {
    const at = await place();
    const nameIdAttributes = ' Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"';
    const named = (nameId: string) =>
      walk(at, { nameId, nameIdAttributes, attributes: { 'urn:oasis:names:tc:SAML:attribute:subject-id': [nameId] } });
    const [before, since] = [acmeAddress(), acmeAddress()];
    expect(codeIn(await named(before))).toBeTruthy();
    await world.query('update identities set email = $2 where email = $1', [before, since]);
    expect(codeIn(await named(since))).toBeTruthy();
    const links = await world.query('select distinct identity_id from sso_links where connection_id = $1', [
      at.connection.id,
    ]);
    expect(links).toHaveLength(1);
  });

  test('two answers that name one subject at once, by two addresses, sign in one person', async () => {
    const people: number[] = [];
    const at = await place();
    for (let stop = 2; stop <= 20; stop += 2) {
      const nameIdAttributes = ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"';
      const nameId = randomUUID();
      const arriving = async () => {
        const browser = world.browser();
        const changes = { nameId, nameIdAttributes, attributes: { mail: [acmeAddress()] } };
        const { path, form } = answerTo(await sendAway(browser, at), idp, world.now(), changes);
        const next = here(await post(path, form));
        return () => browser.get(next);
      };
      const came = await interleaved(world.database.ownerUrl, stop, await arriving(), await arriving());
      expect([stop, came.map(({ statusCode }) => statusCode)]).toEqual([stop, [303, 303]]);
      const sessions = await world.query(
        `select distinct s.identity_id from sessions s join sso_sessions p on p.id = s.sso_session_id
           join sso_links l on l.id = p.link_id where l.connection_id = $1 and l.subject = $2`,
        [at.connection.id, nameId],
      );
      people.push(sessions.length);
    }
    expect([...new Set(people)]).toEqual([1]);
  });

  test('a known person’s sign-in takes at most twenty statements, from the client and back', async () => {
    const at = await place();
    const known = { nameId: acmeAddress(), attributes: { givenName: ['Ana'] } };
    await walk(at, known);
    const browser = world.browser();
    expect(await statementsOf(async () => codeIn(await walk(at, known, browser)))).toBeLessThanOrEqual(20);
  });

  test('the request is signed, and names the provider and where to answer', async () => {
    const at = await place({ forceAuthn: true });
    const url = await sendAway(world.browser(), at);
    expect(new URL(url).searchParams.get('Signature')).toBeTruthy();
    expect(askedIn(url)).toMatchObject({
      entityId: `${baseUrl}/sso/saml/${at.connection.id}/metadata`,
      acsUrl: `${baseUrl}/sso/saml/${at.connection.id}/acs`,
      xml: expect.stringContaining('ForceAuthn="true"'),
    });
  });
});

describe('an encrypted answer', () => {
  /** Encrypts as a provider that has imported our metadata with an encryption certificate. */
  async function encryptedBy(at: SsoPlace, certificate?: string) {
    const { body } = await world.app.inject(`/sso/saml/${at.connection.id}/metadata?encryption=true`);
    const [, bare = ''] = /use="encryption">.*?<X509Certificate>([^<]+)</s.exec(body) ?? [];
    const pem = `-----BEGIN CERTIFICATE-----\n${bare}\n-----END CERTIFICATE-----`;
    return (parts: ResponseParts, key: ProviderKey) =>
      responseXml(parts, encrypted(sign(assertionXml(parts), 'Assertion', key), certificate ?? pem));
  }
  test('signs in the person in it, if it is encrypted to the certificate of the metadata', async () => {
    const at = await place({}, { hasKey: false });
    expect(codeIn(await walk(at, { nameId: acmeAddress() }, world.browser(), await encryptedBy(at)))).toBeTruthy();
  });

  test('for another certificate is refused, with that reason', async () => {
    const at = await place();
    const stranger = await encryptedBy(at, (await newProviderKey()).certificate);
    expect(failureIn(await walk(at, {}, world.browser(), stranger))).toEqual([403, 'sso.decryption_failed']);
  });
});

describe('an answer', () => {
  test('works in the browser that was sent, and in no other', async () => {
    const at = await place();
    const { path, form } = answerTo(await sendAway(world.browser(), at), idp, world.now(), { nameId: acmeAddress() });
    const other = await world.browser().get(here(await post(path, form)));
    expect(failureIn(other)).toEqual([400, 'sso.stale']);
  });

  test('works once; posted again it leads to what the first one began', async () => {
    const at = await place();
    const browser = world.browser();
    const { path, form } = answerTo(await sendAway(browser, at), idp, world.now(), { nameId: acmeAddress() });
    const [first, second] = [await post(path, form), await post(path, form)];
    expect(second.headers.location).toBe(first.headers.location);
    expect(codeIn(await browser.get(here(first)))).toBeTruthy();
    const again = await browser.get(here(second));
    expect(String(again.headers.location)).toContain('/oauth/authorize?');
  });

  test('whose assertion was used before is refused, though it answers another request', async () => {
    const at = await place();
    const assertionId = `_${randomUUID()}`;
    codeIn(await walk(at, { nameId: acmeAddress(), assertionId }));
    expect(failureIn(await walk(at, { nameId: acmeAddress(), assertionId }))).toEqual([400, 'sso.replayed']);
  });

  test('that is refused shows the reason, on the page and in the events', async () => {
    const at = await place();
    expect(failureIn(await walk(at, { audience: 'https://other.example' }))).toEqual([403, 'sso.audience_mismatch']);
    const [event] = await world.query(
      `select metadata from events where action = 'auth.identity_sign_in_failed' and environment_id = $1`,
      [at.environment.environmentId],
    );
    expect(event).toMatchObject({ metadata: { reason: 'audience_mismatch', connection_id: at.connection.id } });
  });

  test('with an address whose domain nobody has verified lets nobody in', async () => {
    expect(failureIn(await walk(await place(), { nameId: 'eve@other.example' }))).toEqual([
      403,
      'sso.domain_not_verified',
    ]);
  });

  test('that arrives after ten minutes makes its browser go again; after an hour it is lost', async () => {
    for (const samlAllowIdpInitiated of [false, true]) {
      const at = await place({ samlAllowIdpInitiated });
      const browser = world.browser();
      const { path, form } = answerTo(await sendAway(browser, at), idp, world.now(), { nameId: acmeAddress() });
      world.wait(minutes(11));
      const complete = here(await post(path, form));
      expect(failureIn(await world.browser().get(complete))).toEqual([400, 'sso.stale']);
      expect((await browser.get(complete)).headers.location).toContain('/oauth/authorize?');
      world.wait(minutes(50));
      expect(failureIn(await browser.get(complete))).toEqual([400, 'sso.stale']);
      expect(failureIn(await post(path, form))).toEqual([400, 'sso.stale']);
      world.wait(-minutes(61));
    }
  });

  test('after an hour, of another connection, of nobody, or of an OpenID connection is lost', async () => {
    const [at, other] = [await place(), await place()];
    const url = await sendAway(world.browser(), at);
    const { path, form } = answerTo(url, idp, world.now());
    const lost = async (to: string, sent: Record<string, string>) =>
      expect(failureIn(await post(to, sent))).toEqual([400, 'sso.stale']);
    await lost(path.replace(at.connection.id, other.connection.id), form);
    await lost(path.replace(at.connection.id, randomUUID()), form);
    await lost(path.replace(at.connection.id, 'x'), form);
    await lost(path, { SAMLResponse: form.SAMLResponse, RelayState: '' });
    await lost(path, { ...form, RelayState: 'x'.repeat(43) });
    await lost(path, { RelayState: form.RelayState });
    world.wait(minutes(61));
    await lost(path, form);
    world.wait(-minutes(61));
  });
});

describe('an unsolicited response', () => {
  const unasked = (
    at: SsoPlace,
    changes: Partial<ResponseParts> = {},
    relayState = at.client.clientId,
    key = idp.key,
  ) => {
    const path = `/sso/saml/${at.connection.id}`;
    const parts = partsOf(
      {
        issuer: idp.issuer,
        acsUrl: `${baseUrl}${path}/acs`,
        audience: `${baseUrl}${path}/metadata`,
        inResponseTo: null,
        now: world.now(),
      },
      { nameId: acmeAddress(), ...changes },
    );
    return post(`${path}/acs`, { SAMLResponse: posted(signedResponse(parts, key)), RelayState: relayState });
  };
  /** Returns a browser with the cookies that the answer to the post has set. */
  const follow = (answered: LightMyRequestResponse) => {
    const browser = world.browser();
    for (const { name, value } of answered.cookies) browser.cookies.set(name, value);
    return { browser, done: browser.get(here(answered)) };
  };

  test('is refused, unless the connection allows it; then it leads to the own account', async () => {
    const closed = await place();
    const refused = await unasked(closed);
    expect(failureIn(refused)).toEqual([403, 'sso.idp_initiated_disabled']);
    expect(refused.body).toContain('Please start in the application');
    expect(await reasonsAt(world, closed)).toEqual(['idp_initiated_disabled']);
    const at = await place({ samlAllowIdpInitiated: true });
    const { browser, done } = follow(await unasked(at));
    expect(String((await done).headers.location)).toContain('/oauth/account?');
    expect((await browser.get(here(await browser.get(here(await done))))).statusCode).toBe(200);
    // The application has no page that starts a sign-in.
    const launched = await browser.get(`/oauth/account/launch?client_id=${at.client.clientId}`);
    expect(here(launched)).toBe(`/oauth/account?client_id=${at.client.clientId}`);
  });

  test('leads on to an application that starts sign-ins itself, which is answered at once', async () => {
    const at = await place({ samlAllowIdpInitiated: true });
    const uri = 'https://app.example/login?from=idp';
    await world.query('update oauth_clients set initiate_login_uri = $2 where id = $1 returning id', [
      at.client.id,
      uri,
    ]);
    world.wait(1000);
    const { browser, done } = follow(await unasked(at));
    const page = await browser.get(here(await browser.get(here(await done))));
    expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('On to Shop web')]);
    const to = new URL(/<a class="button" href="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '');
    expect([to.origin, to.pathname, to.searchParams.get('from')]).toEqual(['https://app.example', '/login', 'idp']);
    expect([to.searchParams.get('iss'), to.searchParams.get('login_hint')]).toEqual([
      baseUrl,
      expect.stringContaining('@'),
    ]);
    const answered = await browser.get(authorizeUrl(at.client));
    expect(new URL(String(answered.headers.location)).searchParams.get('code')).toEqual(expect.any(String));
    // A person who is not signed in signs in first, and returns to it.
    const asked = await world.browser().get(`/oauth/account/launch?client_id=${at.client.clientId}`);
    expect(here(asked)).toContain(`destination=${encodeURIComponent('account/launch')}`);
  });

  test('is refused from the provider of an inactive organization, or of one below an inactive node', async () => {
    const at = await place({ samlAllowIdpInitiated: true });
    const set = (id: string, status: string) =>
      world.query('update nodes set status = $2 where id = $1 returning id', [id, status]);
    for (const node of at.organization.path) {
      await set(node, 'inactive');
      expect(failureIn(await unasked(at))).toEqual([400, 'sso.stale']);
      await set(node, 'active');
    }
    expect((await unasked(at)).statusCode).toBe(303);
  });

  test('counts as a stranger’s unless the provider has signed it: then nothing is shown, and nothing written', async () => {
    const forged = await newProviderKey();
    const closed = await place();
    expect(failureIn(await unasked(closed, {}, '', forged))).toEqual([400, 'sso.stale']);
    const at = await place({ samlAllowIdpInitiated: true });
    expect(failureIn(await unasked(at, {}, '', forged))).toEqual([403, 'sso.signature_invalid']);
    expect([await reasonsAt(world, closed), await reasonsAt(world, at)]).toEqual([[], []]);
  });

  test('leads to the only application, whatever the RelayState; with several it has to name one', async () => {
    const at = await place({ samlAllowIdpInitiated: true });
    const strange = ['', 'https://app.example/deep', 'x\0y', 'x'.repeat(10_000), (await place()).client.clientId];
    for (const relayState of strange) {
      const { done } = follow(await unasked(at, {}, relayState));
      expect(String((await done).headers.location)).toContain(`/oauth/account?client_id=${at.client.clientId}`);
    }
    await at.environment.newClient();
    for (const relayState of strange)
      expect(failureIn(await unasked(at, {}, relayState))).toEqual([403, 'sso.relay_state_unknown']);
    expect(new Set(await reasonsAt(world, at))).toEqual(new Set(['relay_state_unknown']));
    expect((await unasked(at)).statusCode).toBe(303);
  });

  test('works once, and a refusal is in the events for the provider’s administrator', async () => {
    const at = await place({ samlAllowIdpInitiated: true });
    const assertionId = `_${randomUUID()}`;
    expect((await unasked(at, { assertionId })).statusCode).toBe(303);
    expect(failureIn(await unasked(at, { assertionId }))).toEqual([400, 'sso.replayed']);
    expect(failureIn(await unasked(at, { audience: 'https://x.example' }))).toEqual([403, 'sso.audience_mismatch']);
    expect(await reasonsAt(world, at)).toEqual(['replayed', 'audience_mismatch']);
  });
});

test('metadata can be read by everybody who has the URL', async () => {
  const { connection } = await place({}, { hasKey: false });
  const answer = await world.app.inject(`/sso/saml/${connection.id}/metadata`);
  expect(answer.headers['content-type']).toBe('application/samlmetadata+xml');
  expect(answer.body).toContain(`entityID="${baseUrl}/sso/saml/${connection.id}/metadata"`);
  expect((await world.app.inject(`/sso/saml/${connection.id}/metadata`)).body).toBe(answer.body);
  expect((await world.app.inject(`/sso/saml/${randomUUID()}/metadata`)).statusCode).toBe(400);
});

test('a key is created once, however many first request the metadata', async () => {
  const { connection } = await place({}, { hasKey: false });
  const made = jest.spyOn(webcrypto.subtle, 'generateKey');
  try {
    const asked = Array.from({ length: 5 }, () => world.app.inject(`/sso/saml/${connection.id}/metadata`));
    expect(new Set((await Promise.all(asked)).map(({ body }) => body)).size).toBe(1);
    expect(made).toHaveBeenCalledTimes(1);
  } finally {
    made.mockRestore();
  }
});

describe('ten refused answers in a row', () => {
  const statusAfter = async (at: SsoPlace, changes: Partial<ResponseParts>, by = idp) => {
    for (let count = 0; count < 10; count += 1) {
      const { path, form } = answerTo(
        await sendAway(world.browser(), at),
        { ...idp, key: by.key },
        world.now(),
        changes,
      );
      await post(path, form);
    }
    return statusOf(at);
  };
  const statusOf = async ({ connection: { id } }: SsoPlace) => {
    const [row] = await world.query<{ status: string }>('select status from sso_connections where id = $1', [id]);
    return row?.status;
  };

  test('disable the connection if the provider has signed them', async () => {
    const at = await place({ lastLoginAt: world.now() });
    const wrongClock = { notOnOrAfter: new Date(world.now().getTime() - minutes(2)) };
    expect(await statusAfter(at, wrongClock)).toBe('auto_disabled');
  });

  test('but not if one of its people may have requested them, unless nobody signs in by it', async () => {
    const asked = [
      { audience: 'https://other.example' },
      { recipient: 'https://other.example/acs' },
      { nameIdAttributes: ' Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"' },
    ];
    for (const elsewhere of asked) {
      const at = await place({ lastLoginAt: world.now() });
      expect(await statusAfter(at, elsewhere)).toBe('active');
      const unused = await place({ lastLoginAt: new Date(world.now().getTime() - 25 * 60 * 60_000) });
      expect(await statusAfter(unused, elsewhere)).toBe('auto_disabled');
    }
  });

  test('but not if one of its people has kept an answer, or wrapped it again', async () => {
    const changed: [Partial<ResponseParts>, (xml: string, id: string) => string][] = [
      // Only the assertion is signed: the sender decides what surrounds it.
      [{}, (xml) => xml.replace(/Destination="[^"]+"/, 'Destination="https://other.example"')],
      // The provider's issuer for another application, in an envelope for this one.
      [
        { issuer: 'https://idp.acme.example/other' },
        (xml) => xml.replace('https://idp.acme.example/other', idp.issuer),
      ],
      // An old answer in a new envelope.
      [
        { inResponseTo: '_before', notOnOrAfter: new Date(world.now().getTime() - minutes(2)) },
        (xml, id) => xml.replace('InResponseTo="_before"', `InResponseTo="${id}"`),
      ],
    ];
    for (const [changes, wrap] of changed) {
      const at = await place({ lastLoginAt: world.now() });
      for (let count = 0; count < 10; count += 1) {
        const away = await sendAway(world.browser(), at);
        const { path, form } = answerTo(away, idp, world.now(), changes);
        const xml = wrap(Buffer.from(form.SAMLResponse, 'base64').toString(), askedIn(away).id);
        await post(path, { ...form, SAMLResponse: posted(xml) });
      }
      expect(await statusOf(at)).toBe('active');
    }
    const at = await place({ lastLoginAt: world.now() });
    for (let count = 0; count < 10; count += 1) {
      const away = await sendAway(world.browser(), at);
      const { path, form } = answerTo(away, idp, world.now());
      world.wait(minutes(8));
      await post(path, form);
      world.wait(-minutes(8));
    }
    expect(await statusOf(at)).toBe('active');
  });

  test('but not if a person takes their state to the OpenID Connect callback', async () => {
    const at = await place();
    for (let count = 0; count < 10; count += 1) {
      const state = askedIn(await sendAway(world.browser(), at)).relayState;
      const query = new URLSearchParams({ state, code: 'x' });
      const answered = await world.app.inject(`/sso/oidc/${at.connection.id}/callback?${query}`);
      expect(answered.statusCode).toBe(303);
    }
    expect(await statusOf(at)).toBe('active');
  });

  test('but not if anybody can have created them, unless nobody signs in by it anyway', async () => {
    const stranger = await newSamlProvider();
    expect(await statusAfter(await place({ lastLoginAt: world.now() }), {}, stranger)).toBe('active');
    expect(await statusAfter(await place(), {}, stranger)).toBe('auto_disabled');
  });
});
