import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { callbackUrlOf } from '../../../src/domain/sso-protocols/oidc/oidc.js';
import { hours, minutes } from '../../../src/platform/clock.js';
import { here, outcomeOf } from '../../support/answers.js';
import { baseUrl, newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { Browser } from '../../support/oauth/browser.js';
import { signInThere, startOpenIdProvider } from '../../support/openid-provider.js';
import { rowsOf } from '../../support/rows.js';
import type { ResponseParts } from '../../support/saml/provider.js';
import { answerTo, newSamlProvider, type SamlProvider } from '../../support/saml/sign-in.js';
import { newVerifiedDomain } from '../../support/sso.js';

let api: TestApi;
let idp: SamlProvider;
let account: TestAccount;
let portal: Call;
let key: Record<string, string>;
const inEnvironment = '/applications/portal/environments/development/sso-connections';

beforeAll(async () => {
  [api, idp] = await Promise.all([startApi({ WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true' }), newSamlProvider()]);
  account = await newAccount(api);
  key = await account.apiKey();
});
beforeEach(async () => {
  portal = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api?.stop());

/** Calls the Public API. */
const server = (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object) =>
  api.app.inject({ method, url: `/api/v1${path}`, headers: key, ...(payload && { payload }) });
const newBrowser = () => new Browser(api.app);
const domainOf = async (organizationId: string | null = null) => {
  const domain = `${randomUUID()}.example`;
  const world = { db: api.database.db, now: () => api.clock.now } as never;
  await newVerifiedDomain(world, account.scope, domain, organizationId);
  return domain;
};
const samlBody = () => ({
  type: 'saml',
  name: 'Acme <Entra>',
  saml_entity_id: idp.issuer,
  saml_sso_url: idp.fields.samlSsoUrl,
  saml_signing_cert: idp.key.certificate,
});
async function newConnection(path = inEnvironment, more: object = {}): Promise<string> {
  const made = await portal('POST', path, { ...samlBody(), ...more });
  expect(made.statusCode).toBe(201);
  return made.json().data.connection.id;
}
interface Begun {
  id: string;
  /** The path below our base URL. */
  link: string;
}
const begunBy = (made: LightMyRequestResponse): Begun => {
  expect(made.statusCode).toBe(200);
  const { test_id: id, test_url: url } = made.json().data;
  expect(url).toMatch(/^http:\/\/localhost:3000\/sso\/test\?token=[\w-]{43}$/);
  return { id, link: url.replace(baseUrl, '') };
};
const begin = async (path: string): Promise<Begun> => begunBy(await portal('POST', `${path}/test`));
const reportAt = async (path: string, { id }: Begun) => (await portal('GET', `${path}/test/${id}`)).json().data;

/** Uses a link; returns where the browser is redirected. */
async function leave(browser: Browser, { link }: Begun): Promise<string> {
  const page = await browser.get(link);
  expect(page.statusCode).toBe(200);
  const left = await browser.submit(page, {}, { origin: baseUrl, accept: 'application/json' });
  expect(left.statusCode).toBe(200);
  return left.json().redirect_to;
}
/** Signs in by SAML; returns the page that `/sso/complete` shows. */
async function walk(begun: Begun, changes: Partial<ResponseParts> = {}, browser = newBrowser()) {
  const { path, form } = answerTo(await leave(browser, begun), idp, api.clock.now, changes);
  const answered = await newBrowser().post(path, form, { origin: 'https://idp.acme.example' });
  expect(answered.statusCode).toBe(303);
  return browser.get(here(answered));
}
const rows = <Row>(text: string, values: unknown[]) => rowsOf<Row>(api, text, values);
const linksOf = (id: string) => rows('select from sso_links where connection_id = $1', [id]);
const pending = {
  status: 'pending',
  started_at: null,
  finished_at: null,
  refusal: null,
  assertion: null,
  mapped: null,
  would: null,
  would_refuse_code: null,
};

describe('a test reports what the provider says', () => {
  test('by SAML, of a connection that was never active: a new person, who is not created', async () => {
    const domain = await domainOf();
    const id = await newConnection(inEnvironment, {
      jit_provisioning_enabled: true,
      attribute_mapping: { external_id: 'employee' },
    });
    const at = `${inEnvironment}/${id}`;
    const begun = await begin(at);
    expect(await reportAt(at, begun)).toEqual({ test_id: begun.id, ...pending });
    const email = `ana@${domain}`;
    const page = await walk(begun, { nameId: email, attributes: { employee: ['7'], givenName: ['Ana'] } });
    expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('The sign-in works')]);
    expect(page.body).toContain('Acme &lt;Entra&gt;');
    const report = await reportAt(at, begun);
    expect(report).toMatchObject({
      status: 'succeeded',
      started_at: api.clock.now.toISOString(),
      finished_at: api.clock.now.toISOString(),
      refusal: null,
      assertion: { issuer: idp.issuer, email, attributes: { employee: ['7'], givenName: ['Ana'] } },
      mapped: { email, first_name: 'Ana', external_id: '7' },
      would: 'create',
      would_refuse_code: null,
    });
    expect(await linksOf(id)).toEqual([]);
    expect(await rows('select from identities where email = $1', [email])).toEqual([]);
    const [connection] = await rows('select status, last_login_at from sso_connections where id = $1', [id]);
    expect(connection).toEqual({ status: 'configuring', last_login_at: null });
  });

  test('by OpenID Connect, with a page for the browser on the way', async () => {
    const made = await portal('POST', inEnvironment, { type: 'oidc', name: 'Okta' });
    const { id } = made.json().data.connection;
    const at = `${inEnvironment}/${id}`;
    const provider = await startOpenIdProvider({ callbacks: [callbackUrlOf(baseUrl, id)] });
    try {
      await portal('PATCH', at, {
        oidc_discovery_url: provider.issuer,
        oidc_client_id: provider.clientId,
        oidc_client_secret: provider.clientSecret,
      });
      provider.people.set('ana', { email: 'ana@nowhere.example', email_verified: false, given_name: 'Ana' });
      const [begun, browser] = [await begin(at), newBrowser()];
      const left = await browser.submit(await browser.get(begun.link), {}, { origin: baseUrl });
      expect(left.body).toContain('http-equiv="refresh"');
      const url = /<a [^>]*href="([^"]+)"/.exec(left.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const answered = await browser.get((await signInThere(url, 'ana')).replace(baseUrl, ''));
      const page = await browser.get(here(answered), { 'accept-language': 'de' });
      expect(page.body).toContain('Die Antwort ist in Ordnung, Sie kämen aber nicht hinein');
      expect(page.body).toContain('Der Identitätsanbieter bürgt nicht für Ihre E-Mail-Adresse');
      expect(page.body).toContain('sso.email_unverified');
      expect(await reportAt(at, begun)).toMatchObject({
        status: 'succeeded',
        assertion: { issuer: provider.issuer, subject: 'ana', email_verified: false },
        mapped: { email: 'ana@nowhere.example', first_name: 'Ana', external_id: null },
        would: 'refuse',
        would_refuse_code: 'email_unverified',
      });

      await portal('PATCH', at, { oidc_client_secret: 'another one of thirty-two characters' });
      const wrong = await begin(at);
      const back = await signInThere(await leave(browser, wrong), 'ana');
      const refused = await browser.get(here(await browser.get(back.replace(baseUrl, ''))));
      expect(refused.body).toContain('sso.client_refused');
      expect(await reportAt(at, wrong)).toMatchObject({ status: 'refused', refusal: { code: 'client_refused' } });
    } finally {
      await provider.stop();
    }
  });

  test('with the person whom it would link, or has linked, and what was repaired meanwhile', async () => {
    const id = await newConnection();
    const at = `${inEnvironment}/${id}`;
    const email = `ana@${randomUUID()}.example`;
    const begun = await begin(at);
    const page = await walk(begun, { nameId: email });
    expect(page.body).toContain('sso.domain_not_verified');
    const would = async () => {
      const report = await reportAt(at, begun);
      return [report.would, report.would_refuse_code];
    };
    expect(await would()).toEqual(['refuse', 'domain_not_verified']);
    const world = { db: api.database.db, now: () => api.clock.now } as never;
    await newVerifiedDomain(world, account.scope, email.slice(4));
    expect(await would()).toEqual(['refuse', 'identity_unknown']);
    const person = (await server('POST', '/identities', { email, first_name: 'Ana' })).json().data;
    expect(await would()).toEqual(['link', null]);
    const { subject } = (await reportAt(at, begun)).assertion;
    await rows(
      `insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       values (gen_random_uuid(), $1, $2, $3, $4, now(), now())`,
      [account.scope.accountId, id, subject, person.id],
    );
    expect(await would()).toEqual(['sign_in_linked', null]);
  });

  test('with the reason why somebody who has a known person’s address is not that person', async () => {
    const email = `ana@${await domainOf()}`;
    const id = await newConnection();
    const person = (await server('POST', '/identities', { email, email_verified: true })).json().data;
    await rows(
      `insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at)
       values (gen_random_uuid(), $1, $2, 'before', $3, now(), now())`,
      [account.scope.accountId, id, person.id],
    );
    const page = await walk(await begin(`${inEnvironment}/${id}`), { nameId: email });
    expect(page.body).toContain('sso.subject_mismatch');
    expect(page.body).toContain(
      'The identity provider knows the person who has your email address here as somebody else',
    );
  });

  test('with a provider that did not authenticate again, though the connection requires it', async () => {
    const domain = await domainOf();
    const id = await newConnection(inEnvironment, { force_authn: true, jit_provisioning_enabled: true });
    const at = `${inEnvironment}/${id}`;
    const wouldOf = async (authnInstant: Date) => {
      const begun = await begin(at);
      await walk(begun, { nameId: `ana@${domain}`, authnInstant });
      const report = await reportAt(at, begun);
      return [report.status, report.would, report.would_refuse_code];
    };
    const old = new Date(api.clock.now.getTime() - hours(8));
    expect(await wouldOf(old)).toEqual(['succeeded', 'refuse', 'reauthentication_missing']);
    expect(await wouldOf(api.clock.now)).toEqual(['succeeded', 'create', null]);
  });

  test('of administrators: a stranger, an invited person, a member', async () => {
    const domain = await domainOf();
    const id = await newConnection('/sso/connections');
    const at = `/sso/connections/${id}`;
    const email = `eva@${domain}`;
    const begun = await begin(at);
    expect((await walk(begun, { nameId: email })).body).toContain('sso.identity_unknown');
    const would = async () => (await reportAt(at, begun)).would;
    const [role] = await rows<{ id: string }>(
      `select id from administrator_roles where account_id = $1 and system_key = 'viewer'`,
      [account.scope.accountId],
    );
    const person = { email, first_name: 'Eva', last_name: 'Kern', role_id: role?.id };
    expect((await portal('POST', '/administrator-invites', person)).statusCode).toBe(201);
    expect(await would()).toBe('create');
    const [owner] = await rows<{ email: string }>('select email from users where id = $1', [account.userId]);
    const world = { db: api.database.db, now: () => api.clock.now } as never;
    await newVerifiedDomain(world, account.scope, String(owner?.email).split('@')[1] as string);
    const again = await begin(at);
    await walk(again, { nameId: owner?.email as string });
    expect((await reportAt(at, again)).would).toBe('link');
    expect(await linksOf(id)).toEqual([]);
  });

  test('with a refusal and its reason, which counts for nothing', async () => {
    const id = await newConnection();
    const at = `${inEnvironment}/${id}`;
    await portal('POST', `${at}/activate`);
    for (let tries = 0; tries < 11; tries += 1) {
      const begun = await begin(at);
      const page = await walk(begun, { audience: 'https://elsewhere.example' });
      expect(page.body).toContain('The response was refused');
      expect(await reportAt(at, begun)).toMatchObject({
        status: 'refused',
        refusal: { code: 'audience_mismatch', message: expect.any(String) },
        assertion: null,
        would: 'refuse',
        would_refuse_code: 'audience_mismatch',
      });
    }
    const { connection } = (await portal('GET', at)).json().data;
    expect(connection).toMatchObject({ status: 'active', consecutive_failures: 0, last_login_failure_at: null });
    const recorded = await rows<{ action: string; actor_type: string; metadata: object }>(
      `select action, actor_type, metadata from events where resource_id = $1 and action like '%test%' order by created_at limit 2`,
      [id],
    );
    const [test_id, more] = [expect.any(String), { type: 'saml', scope: 'identity', organization_id: null }];
    expect(recorded).toEqual([
      { action: 'sso_connection.test_started', actor_type: 'platform_admin', metadata: { test_id, ...more } },
      {
        action: 'sso_connection.tested',
        actor_type: 'anonymous',
        metadata: { test_id, reason: 'audience_mismatch', ...more },
      },
    ]);
  });

  test('with a provider that cannot be reached', async () => {
    const made = await portal('POST', inEnvironment, {
      type: 'oidc',
      name: 'Away',
      oidc_discovery_url: 'http://127.0.0.1:1',
      oidc_client_id: 'gatehouse',
      oidc_client_secret: 'secret',
    });
    const at = `${inEnvironment}/${made.json().data.connection.id}`;
    const [begun, browser] = [await begin(at), newBrowser()];
    const page = await browser.submit(await browser.get(begun.link), {}, { origin: baseUrl });
    expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('sso.provider_unreachable')]);
    expect(await reportAt(at, begun)).toMatchObject({ status: 'refused', refusal: { code: 'provider_unreachable' } });
  });

  test('which is stored sealed, and whose request stores nothing', async () => {
    const at = `${inEnvironment}/${await newConnection()}`;
    const begun = await begin(at);
    await walk(begun, { nameId: 'secretly@acme.example' });
    const kept = await rows<Record<string, unknown>>('select * from sso_tests where id = $1', [begun.id]);
    expect(kept[0]?.sealed_outcome).toEqual(expect.any(String));
    expect(JSON.stringify(kept)).not.toContain('secretly');
    expect(JSON.stringify(kept)).not.toContain(begun.link.split('=')[1]);
    const requests = `select sealed_answer as answer from sso_requests where parameters ->> 'test_id' = $1`;
    expect(await rows(requests, [begun.id])).toEqual([{ answer: null }]);
  });
});

describe('the link of a test', () => {
  const lost = async (browser: Browser, link: string) => {
    const token = link.split('=')[1] as string;
    const page = await browser.get(link);
    const posted = await browser.post('/sso/test', { token }, { origin: baseUrl });
    return [page.statusCode, posted.statusCode, page.body.includes('sso.stale'), posted.body.includes('sso.stale')];
  };
  const gone = [400, 400, true, true];

  test('works once, for anybody who presses its button', async () => {
    const begun = await begin(`${inEnvironment}/${await newConnection()}`);
    const browser = newBrowser();
    for (let looks = 0; looks < 3; looks += 1) expect((await browser.get(begun.link)).statusCode).toBe(200);
    const token = begun.link.split('=')[1] as string;
    const foreign = await browser.post('/sso/test', { token }, { origin: 'https://evil.example' });
    expect(foreign.statusCode).toBe(403);
    const all = await Promise.all(
      Array.from({ length: 5 }, () => newBrowser().post('/sso/test', { token }, { origin: baseUrl })),
    );
    expect(all.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400, 400, 400]);
    expect(await lost(browser, begun.link)).toEqual(gone);
    const used = await browser.get(begun.link);
    expect(used.body).toContain('This link no longer works');
    expect(used.body).toContain('ask the person who sent you the link for a new one');
  });

  test.each(['', 'x', 'ä'.repeat(43), 'A'.repeat(43)])('that was never issued leads nowhere: %j', async (token) => {
    expect(await lost(newBrowser(), `/sso/test?token=${encodeURIComponent(token)}`)).toEqual(gone);
  });

  test('reveals nothing to another browser, and the same again to the same one', async () => {
    const at = `${inEnvironment}/${await newConnection()}`;
    const [begun, browser] = [await begin(at), newBrowser()];
    const { path, form } = answerTo(await leave(browser, begun), idp, api.clock.now);
    const answered = await newBrowser().post(path, form);
    const stranger = await newBrowser().get(here(answered));
    expect([stranger.statusCode, stranger.body]).toEqual([400, expect.stringContaining('sso.stale')]);
    expect((await reportAt(at, begun)).status).toBe('pending');
    for (let looks = 0; looks < 2; looks += 1) {
      const page = await browser.get(here(answered));
      expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('sso.domain_not_verified')]);
    }
    const sessions = `select from sessions where sso_connection_id = $1`;
    expect(await rows(sessions, [at.split('/').at(-1)])).toEqual([]);
  });

  test('expires on time, as does the report', async () => {
    const organization = (await server('POST', '/organizations', { name: `Org ${randomUUID()}` })).json().data.id;
    const at = `/organizations/${organization}/sso-connection`;
    expect((await server('POST', at, samlBody())).statusCode).toBe(201);
    const start = async () => begunBy(await server('POST', `${at}/test`));
    const read = async ({ id }: Begun) => server('GET', `${at}/test/${id}`);
    const [unused, left, done] = [await start(), await start(), await start()];
    const browser = newBrowser();
    await leave(browser, left);
    await walk(done);
    api.clock.advance(minutes(10));
    expect(await lost(browser, unused.link)).toEqual(gone);
    const statuses = await Promise.all([unused, left, done].map(async (one) => (await read(one)).json().data.status));
    expect(statuses).toEqual(['expired', 'expired', 'succeeded']);
    api.clock.advance(hours(1) - minutes(10));
    expect(outcomeOf(await read(done))).toBe('404 sso_connection.test_not_found');
  });

  test('leads a late user to an end with the report', async () => {
    const [begun, browser] = [await begin(`${inEnvironment}/${await newConnection()}`), newBrowser()];
    api.clock.advance(minutes(9));
    const { path, form } = answerTo(await leave(browser, begun), idp, api.clock.now);
    const answered = await newBrowser().post(path, form);
    const statusOfPage = async () => (await browser.get(here(answered))).statusCode;
    expect(await statusOfPage()).toBe(200);
    api.clock.advance(minutes(50));
    expect(await statusOfPage()).toBe(200);
    api.clock.advance(minutes(1));
    expect(await statusOfPage()).toBe(400);
  });
});

describe('permissions', () => {
  test('an incomplete connection cannot be tested, and the answer names what is missing', async () => {
    const made = await portal('POST', inEnvironment, { type: 'saml', name: 'Empty' });
    const refused = await portal('POST', `${inEnvironment}/${made.json().data.connection.id}/test`);
    expect(outcomeOf(refused)).toBe('400 sso_connection.incomplete');
    const fields = (refused.json().error.details as { field: string }[]).map(({ field }) => field);
    expect(fields).toEqual(['saml_entity_id', 'saml_sso_url', 'saml_signing_cert']);
  });

  test('a test is read where its connection is, and nowhere else', async () => {
    const [one, other] = [await newConnection(), await newConnection()];
    const begun = await begin(`${inEnvironment}/${one}`);
    expect(outcomeOf(await portal('GET', `${inEnvironment}/${other}/test/${begun.id}`))).toBe(
      '404 sso_connection.test_not_found',
    );
    expect(outcomeOf(await portal('GET', `/sso/connections/${one}/test/${begun.id}`))).toBe(
      '404 sso_connection.not_found',
    );
    const stranger = await newAccount(api);
    const calls = callsOf(api, stranger.accountSlug, await stranger.as('owner'));
    expect((await calls('GET', `${inEnvironment}/${one}/test/${begun.id}`)).statusCode).toBe(404);
  });

  test('the developers’ connection of an organization is tested in the Portal, and its tests are read there', async () => {
    const organization = (await server('POST', '/organizations', { name: `Org ${randomUUID()}` })).json().data.id;
    const id = await newConnection(inEnvironment, { organization_id: organization });
    const at = `/organizations/${organization}/sso-connection`;
    expect(outcomeOf(await server('POST', `${at}/test`))).toBe('409 organization.sso_connection_not_owned');
    const begun = await begin(`${inEnvironment}/${id}`);
    expect((await server('GET', `${at}/test/${begun.id}`)).json().data.status).toBe('pending');
    const viewer = callsOf(api, account.accountSlug, await account.as('viewer'));
    expect(outcomeOf(await viewer('POST', `${inEnvironment}/${id}/test`))).toBe('403 account.capability_required');
    expect((await viewer('GET', `${inEnvironment}/${id}/test/${begun.id}`)).statusCode).toBe(200);
  });

  test('a connection’s tests are deleted with it', async () => {
    const id = await newConnection();
    const begun = await begin(`${inEnvironment}/${id}`);
    await portal('DELETE', `${inEnvironment}/${id}`);
    expect((await newBrowser().get(begun.link)).statusCode).toBe(400);
    const left = 'select from sso_tests where connection_id = $1';
    expect(await rows(left, [id satisfies SsoConnection['id']])).toEqual([]);
  });
});
