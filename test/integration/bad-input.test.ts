import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import fc from 'fast-check';
import type { LightMyRequestResponse } from 'fastify';
import { pino } from 'pino';
import { PendingRegistration } from '../../entities/pending-registration.js';
import { registrationToken } from '../../src/domain/registration/link.js';
import { sealing } from '../support/administrators.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { asOwner } from '../support/database.js';
import { withoutReferences } from '../support/document-schemas.js';
import {
  type Known,
  newMarked,
  type Route,
  type RouteInput,
  remoteAddress,
  requestFor,
  routesIn,
  type Sent,
} from '../support/fuzz-input.js';
import { marker } from '../support/fuzz-values.js';
import { newPkce } from '../support/oauth/sign-in.js';
import { publicClient } from '../support/public-client.js';

const seed = 20_261_121;
/** Requests per route; FUZZ_RUNS sets more, for a longer search. */
const runs = Number(process.env.FUZZ_RUNS ?? 40);
const redirectUri = 'https://app.example.com/callback';
const password = newMarked('Pass ');

const clientSettings = { ...publicClient, redirectUris: [redirectUri], postLogoutRedirectUris: [redirectUri] };

const logged: string[] = [];
let api: TestApi;
let account: TestAccount;
let clientId: string;
let known: Omit<Known, 'credentials'>;
let identity: Record<string, string>;
let person: { id: string; email: string };
beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  api = await startApi({}, log);
  account = await newAccount(api);
  const { services } = api;
  const { client } = await services.clientManagement.create(account.scope, clientSettings);
  const { client: changed } = await services.clientManagement.create(account.scope, {
    ...clientSettings,
    name: 'Changed',
  });
  clientId = client.clientId;
  const email = `${newMarked('ana')}@example.com`;
  const names = { firstName: 'Ana', lastName: 'B' };
  const made = await services.identities.create(account.scope, { email, ...names, emailVerified: true, password });
  person = { id: made.identity.id, email };
  const { client: server, secret } = await services.clientManagement.create(account.scope, {
    ...clientSettings,
    name: 'Server',
    clientType: 'confidential',
    tokenEndpointAuthMethod: 'client_secret_post',
  });
  known = await knownIn(changed.id, { client_id: server.clientId, client_secret: secret as string });
  identity = await asIdentity();
});
afterAll(() => api?.stop());

async function knownIn(
  oauthClientId: string,
  confidential: Record<string, string>,
): Promise<Omit<Known, 'credentials'>> {
  const key = await account.apiKey();
  const listed = (await api.app.inject({ url: '/api/v1/api-keys', headers: key })).json();
  const nodes = await madeNodes(key);
  const { verifier, challenge } = newPkce();
  const request = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    state: marker,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  const emailCode = await startedEmailCode(request);
  const { session } = await asSignedIn();
  const ofAccount = { client_id: clientId, session, ui_locales: 'de' };
  const secret = newMarked('A').padEnd(43, 'x').slice(0, 43);
  const secrets = [secret, `${marker}.${marker}.${marker}`];
  return {
    params: {
      accountSlug: [account.accountSlug],
      appSlug: [account.applicationSlug],
      envSlug: ['development', 'production'],
      id: [person.id, oauthClientId, listed.items[0].id, ...nodes],
      session_id: [listed.items[0].id],
      '*': ['static/index.html'],
    },
    fields: {
      client_id: [clientId],
      redirect_uri: [redirectUri],
      response_type: ['code'],
      scope: ['openid profile', `openid ${marker}`],
      state: [marker],
      nonce: [marker],
      code_challenge: [challenge],
      code_challenge_method: ['S256'],
      prompt: ['none', 'login', 'select_account', 'consent login'],
      max_age: ['0', '100'],
      id_token_hint: secrets,
      login_hint: [person.email],
      ui_locales: ['de en', 'xx'],
      claims: ['{}'],
      request: ['x'],
      email: [person.email, `${marker}@example.com`],
      password: [password, newMarked('wrong')],
      choice: ['continue', 'other'],
      first_name: ['Ana', marker],
      last_name: ['B', marker],
      ticket: secrets,
      confirm: ['yes', 'no'],
      post_logout_redirect_uri: [redirectUri],
      grant_type: ['authorization_code', 'refresh_token', 'client_credentials'],
      code: secrets,
      code_verifier: [verifier],
      refresh_token: secrets,
      client_secret: secrets,
      client_assertion: secrets,
      client_assertion_type: ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
      token: secrets,
      login_token: secrets,
      'cf-turnstile-response': [marker],
      method: ['code'],
      token_type_hint: ['refresh_token', 'access_token'],
      access_token: secrets,
      redirect_uris: [redirectUri, 'http://127.0.0.1/cb', 'com.example.app:/cb'],
      post_logout_redirect_uris: [redirectUri],
      environment_slug: ['development'],
      parent_node_id: nodes,
      node_type: ['unit', 'organization'],
      session: [session, session, session, marker],
      end: [person.id, 'others', marker],
      forget: [person.id, 'all'],
      revoke: [person.id, oauthClientId],
      destination: ['account', 'account/password', `account/${marker}`],
      enrollment: secrets,
      codes_token: secrets,
    },
    wholes: {
      '/oauth/authorize': {
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid',
        state: marker,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        nonce: marker,
        max_age: '100',
        prompt: 'login',
        ui_locales: 'de',
        login_hint: person.email,
        email: person.email,
        password,
      },
      '/oauth/login/email-otp/start': {
        ...request,
        ui_locales: 'de',
        email: person.email,
        login_token: emailCode.token,
      },
      '/oauth/login/email-otp/verify': { ...request, code: '123456', login_token: emailCode.token },
      '/oauth/register': { ...request, email: `${marker}@example.com`, password, first_name: 'Ana', last_name: marker },
      '/oauth/verify-email': { token: secret, password },
      '/oauth/verify-email/resend': { ...request, ticket: `${marker}.${marker}` },
      '/oauth/password/forgot': { ...request, email: person.email },
      '/oauth/password/reset': { token: secret, password },
      '/oauth/account': { client_id: clientId, ui_locales: 'de', done: 'session_ended' },
      '/oauth/account/password': { ...ofAccount, current_password: newMarked('wrong'), new_password: password },
      '/oauth/account/factors/totp': { ...ofAccount, enrollment: secret, code: '123456', label: marker },
      '/oauth/account/factors/email-otp': { ...ofAccount, code: '123456' },
      '/oauth/account/factors/webauthn': { ...ofAccount, enrollment: secret, credential: marker, label: marker },
      '/oauth/account/factors/webauthn/options': ofAccount,
      '/oauth/account/recovery-codes': { ...ofAccount, codes_token: secret },
      '/oauth/account/sessions': { ...ofAccount, end: person.id },
      '/oauth/account/devices': { ...ofAccount, forget: person.id },
      '/oauth/account/applications': { ...ofAccount, revoke: person.id },
      '/oauth/token': {
        grant_type: 'authorization_code',
        client_id: clientId,
        code: secret,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        scope: 'openid',
        refresh_token: secret,
      },
      '/oauth/revoke': { client_id: clientId, token: secret, token_type_hint: 'refresh_token' },
      '/oauth/introspect': { ...confidential, token: secret, token_type_hint: 'access_token' },
      '/oauth/userinfo': { access_token: secret },
      '/oauth/logout': { client_id: clientId, post_logout_redirect_uri: redirectUri, state: marker, ui_locales: 'de' },
      '/v1/auth/verify-email': { token: await registrationLink(), password },
      '/v1/auth/verify-email/decline': { token: await registrationLink() },
      '/v1/auth/password/reset': { token: secret, password },
      '/v1/auth/email/confirm': { token: secret, password },
      '/v1/identity/auth/login': { client_id: clientId, email: person.email, password, scope: 'openid' },
      '/v1/identity/auth/refresh': { client_id: clientId, refresh_token: secret },
      '/v1/identity/auth/select-application': {
        client_id: clientId,
        selection_token: secret,
        application_id: person.id,
      },
      '/v1/identity/auth/mfa/challenge/totp': { challenge_token: secret, code: '123456' },
      '/v1/identity/auth/mfa/totp/confirm': { enrollment_token: secret, code: '123456' },
      '/v1/identity/auth/password': { current_password: newMarked('wrong'), new_password: password },
      '/v1/identity/auth/password/forgot': { client_id: clientId, email: person.email },
      '/v1/identity/auth/password/reset': { client_id: clientId, token: secret, password },
      '/v1/identity/auth/verify-email': { client_id: clientId, token: secret, password },
    },
    cookies: secrets.flatMap((value) => [
      `hosted_session=${value}`,
      `sign_up=${value}`,
      `admin_registration=${value}`,
      `admin_email_change=${value}`,
      `admin_refresh=${value}`,
      `admin_session=${value}`,
    ]),
  };
}

/** Opens a page that asks for an emailed code. */
async function startedEmailCode(request: Record<string, string>): Promise<{ token: string }> {
  await asOwner(
    (db) =>
      db.query(
        'update environment_settings set email_otp_login_enabled = true, allow_self_signup = true, allow_email_change = true',
      ),
    api.database.ownerUrl,
  );
  const sent = await api.app.inject({
    method: 'POST',
    url: '/oauth/login/email-otp/start',
    headers: { accept: 'application/json' },
    payload: { ...request, email: person.email },
  });
  return { token: sent.json().login_token };
}

/** Creates two nodes, one below the other. */
async function madeNodes(headers: Record<string, string>): Promise<string[]> {
  const make = async (parent_node_id: string | null) => {
    const payload = { parent_node_id, node_type: 'unit', name: newMarked('Node') };
    return (await api.app.inject({ method: 'POST', url: '/api/v1/nodes', headers, payload })).json().data.id as string;
  };
  const top = await make(null);
  return [top, await make(top)];
}

/** Returns the link token of a registration that only waits for its confirmation. */
async function registrationLink(): Promise<string> {
  const email = `${newMarked('waiting')}@example.com`;
  const names = { first_name: 'Ana', last_name: 'B', account_name: 'Acme', application_name: 'Shop' };
  await api.app.inject({ method: 'POST', url: '/v1/auth/register', payload: { email, password, ...names } });
  const { db } = api.database;
  const found = await db.transaction('system', (tx) => tx.findOneByOrFail(PendingRegistration, { email }));
  return registrationToken(sealing, found).token;
}

/** New for each route: an earlier request may have ended the session. */
async function credentials({ url }: Route): Promise<Record<string, string>[]> {
  const [key, owner] = [await account.apiKey(), await account.as('owner')];
  const isOfIdentities = /^\/(oauth\/userinfo|v1\/identity\/auth)/.test(url);
  if (isOfIdentities) identity = await asIdentity();
  if (url.startsWith('/oauth/account')) return [await asSignedIn().then(({ cookie }) => ({ cookie })), {}];
  const usual = url.startsWith('/api') ? key : isOfIdentities ? identity : owner;
  const versions = ['"1"', '2', '"3"', '"4"'].map((version) => ({ ...usual, 'if-match': version }));
  return [key, owner, identity, {}, ...(url.startsWith('/oauth/') ? [] : [usual, usual, usual, usual, ...versions])];
}

let browser = '';
/** Signs the person in to the hosted pages, unless their session still lasts. */
async function asSignedIn(): Promise<{ cookie: string; session: string }> {
  const headers = { accept: 'application/json', ...(browser && { cookie: browser }) };
  const url = `/oauth/authorize?client_id=${clientId}&destination=account`;
  const payload = { email: person.email, password };
  const { cookies } = await api.app.inject({ method: 'POST', url, headers, payload });
  browser = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const page = await api.app.inject({
    url: `/oauth/account?client_id=${clientId}`,
    headers: { ...headers, cookie: browser },
  });
  const sessions = page.json().sessions as { id: string; is_current: boolean }[];
  return { cookie: browser, session: sessions.find(({ is_current }) => is_current)?.id ?? '' };
}

async function asIdentity(): Promise<Record<string, string>> {
  const { verifier, challenge } = newPkce();
  const form = (url: string, fields: Record<string, string>) =>
    api.app.inject({
      method: 'POST',
      url,
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(fields).toString(),
    });
  const asked = { client_id: clientId, redirect_uri: redirectUri, response_type: 'code', scope: 'openid' };
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const there = (await form('/oauth/authorize', { ...asked, ...pkce, email: person.email, password })).json();
  const code = new URL(there.redirect_to).searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', client_id: clientId, redirect_uri: redirectUri };
  const tokens = (await form('/oauth/token', { ...grant, code, code_verifier: verifier })).json();
  return { authorization: `Bearer ${tokens.access_token}` };
}

interface OpenApi {
  paths: Record<string, Record<string, { parameters?: Parameter[]; requestBody?: { content: Content } }>>;
}
interface Parameter {
  in: string;
  name: string;
}
type Content = Record<string, { schema?: RouteInput['body'] }>;

/** Returns every route with its documented input. Changes and deletions come last: the others need the data. */
async function everyRoute(): Promise<(Route & RouteInput)[]> {
  const document: OpenApi = (await api.app.inject('/openapi.json')).json();
  const { paths } = withoutReferences(document);
  const routes = routesIn(api.app.printRoutes({ commonPrefix: false, includeHooks: false })).map((route) => {
    const operation = paths[route.url.replace(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()];
    const content = Object.values(operation?.requestBody?.content ?? {})[0];
    const query = (operation?.parameters ?? []).filter((parameter) => parameter.in === 'query');
    return { ...route, query: query.map(({ name }) => name), body: content?.schema ?? null };
  });
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  );
  const found = new Set(routes.map(({ method, url }) => `${method} ${url}`));
  expect(documented.filter((name) => !found.has(name))).toEqual([]);
  const depth = ({ url }: Route) => url.split('/').length;
  const ofKind = (...methods: string[]) => routes.filter(({ method }) => methods.includes(method));
  return [
    ...ofKind('GET', 'HEAD', 'OPTIONS', 'POST'),
    ...ofKind('PUT', 'PATCH').sort((a, b) => depth(b) - depth(a)),
    ...ofKind('DELETE').sort((a, b) => depth(b) - depth(a)),
  ];
}

const ours =
  /\n\s+at |node_modules|QueryFailed|PostgresError|duplicate key|violates \w+|invalid (input|byte)|syntax error at|\b(select|insert into|update) .{1,200}\b(from|values|set)\b/i;
/** These need Temporal, which is away here; no other route has a reason to be unavailable. */
const needsTemporal = /^\/v1\/auth\/(verify-email|accounts)/;
const pages =
  /^\/sso\/|^\/oauth\/(?!token$|revoke$|introspect$|userinfo$)|^\/v1\/auth\/(verify-email(\/decline)?|password\/reset|email\/confirm|accept-invite)$/;
/** These answer a browser with a page, and a program with the envelope. */
const pagesForBrowsers = /^\/v1\/auth\/sso\//;
const wantsJson = ({ headers = {} }: Sent) => /application\/json/i.test(String(headers.accept ?? ''));

/** Only our pages' script calls these: they answer `{ error }` (spec, "Errors"). */
const forScripts = /^\/oauth\/.*\/(webauthn|passkey)(\/|$)/;

/** Returns what is wrong with an answer; null if nothing is. */
function problemOf(route: Route, sent: Sent, response: LightMyRequestResponse): string | null {
  const { statusCode: status, headers, body } = response;
  const type = String(headers['content-type'] ?? '');
  if (status === 503 && needsTemporal.test(route.url)) return headers['retry-after'] ? null : 'no Retry-After';
  if (status >= 500) return `status ${status}`;
  const leak = ours.exec(body);
  if (leak && !/^\/(docs|openapi\.json)/.test(route.url)) return `the body shows ours: ${leak[0]}`;
  if (!headers['x-request-id'] || headers['x-content-type-options'] !== 'nosniff') return 'headers are missing';
  if (!headers['cache-control']) return 'a cache may store the answer';
  if (status < 400 || route.method === 'HEAD') return null;
  // The normalized path is no route, and unknown paths are answered alike everywhere.
  if (status === 404 && /%2e%2e/i.test(String(sent.url))) return envelopeProblem(sent, response);
  if (pages.test(route.url) && type.startsWith('text/html')) return body.includes('</html>') ? null : 'no whole page';
  if (pagesForBrowsers.test(route.url) && type.startsWith('text/html'))
    return body.includes('</html>') ? null : 'no whole page';
  if (pages.test(route.url) && !wantsJson(sent) && ['GET', 'HEAD'].includes(route.method))
    return `${status} is no page`;
  if (forScripts.test(route.url))
    return typeof parsed(body).error === 'string' ? null : `no error: ${body.slice(0, 300)}`;
  if (route.url.startsWith('/scim/')) return scimProblem(response);
  return /^\/(oauth|sso)\//.test(route.url) ? oauthProblem(response) : envelopeProblem(sent, response);
}

/** What a script receives besides an error, to continue with. */
const nextSteps = ['reason', 'methods', 'login_token'];

/** RFC 7644 §3.12. */
function scimProblem({ statusCode, headers, body }: LightMyRequestResponse): string | null {
  const { schemas, status, detail } = parsed(body);
  const isWhole = Array.isArray(schemas) && status === String(statusCode) && typeof detail === 'string';
  const isScim = String(headers['content-type']).startsWith('application/scim+json');
  return isWhole && isScim ? null : `not RFC 7644: ${body.slice(0, 300)}`;
}

function oauthProblem({ statusCode, headers, body }: LightMyRequestResponse): string | null {
  // RFC 6750 §3.1: a request without a token gets the scheme and no error.
  if (body === '' && statusCode === 401 && headers['www-authenticate']) return null;
  const { error, error_description: description, ...more } = parsed(body);
  for (const name of nextSteps) delete more[name];
  // RFC 6749 §5.2: text of these characters.
  const isInWords = typeof description === 'string' && /^[ !#-[\]-~]+$/.test(description) && description.includes(' ');
  const isWhole = typeof error === 'string' && /^[a-z_.]+$/.test(error) && isInWords;
  return isWhole && Object.keys(more).length === 0 ? null : `not RFC 6749: ${body.slice(0, 300)}`;
}

function envelopeProblem(sent: Sent, { statusCode, body }: LightMyRequestResponse): string | null {
  const { error } = parsed(body) as { error?: Record<string, unknown> };
  if (error?.statusCode !== statusCode) return `not the envelope: ${body.slice(0, 300)}`;
  const { code, message, path, method, timestamp } = error;
  if (code !== null && !/^[a-z_]+\.[a-z_]+$/.test(String(code))) return `odd code ${String(code)}`;
  if (typeof message !== 'string' || method !== sent.method || !Date.parse(String(timestamp)))
    return `odd envelope ${body}`;
  return String(path).includes('?') ? 'the path has the query' : null;
}

function parsed(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Shows what was sent so that it can be sent again, shortened where it is very long. */
const shown = ({ payload, ...sent }: Sent) => {
  const text = Buffer.isBuffer(payload) ? `base64 ${payload.toString('base64')}` : JSON.stringify(payload);
  const short = (value: string) => value.replace(/(.)\1{50,}/g, (run, one) => `${one}…×${run.length}`).slice(0, 1_500);
  return `${short(JSON.stringify(sent))}\n      body ${short(text ?? 'none')}`;
};

/** Whether the Public API offers it too: the same schema and handler on another surface. */
const isTwin = ({ url }: Route, routes: readonly Route[]) => {
  const [, path] = /^\/portal\/.*\/environments\/:envSlug(\/.+)$/.exec(url) ?? [];
  return path !== undefined && routes.some((route) => route.url === `/api/v1${path}`);
};

/**
 * Returns few runs for a route that reads nothing of its request, and for HEAD, which does what GET does; some for a
 * twin of another route, and for one that waits for Temporal, which is away.
 */
function runsOf(route: Route, routes: readonly Route[]): number {
  const { method, url } = route;
  const readsNothing = /^\/(docs|openapi|healthz|readyz|\.well-known)/.test(url);
  if (['HEAD', 'OPTIONS'].includes(method) || readsNothing) return Math.ceil(runs / 10);
  return isTwin(route, routes) || needsTemporal.test(url) ? Math.ceil(runs / 4) : runs;
}

test('no input causes a 500, another form of error, or a leak; and none of it is logged', async () => {
  const problems: string[] = [];
  const answers = new Map<number, number>();
  const routes = await everyRoute();
  for (const route of routes) {
    const secrets = await credentials(route);
    const property = fc.asyncProperty(requestFor(route, route, { ...known, credentials: secrets }), async (sent) => {
      logged.length = 0;
      const response = await api.app.inject(sent);
      answers.set(response.statusCode, (answers.get(response.statusCode) ?? 0) + 1);
      const problem = problemOf(route, sent, response) ?? logProblem(secrets);
      if (problem) throw new Error(problem);
    });
    const details = await fc.check(property, { seed, numRuns: runsOf(route, routes), interruptAfterTimeLimit: 20_000 });
    if (!details.failed || !details.counterexample) continue;
    const [sent] = details.counterexample;
    const said = (details.errorInstance as Error)?.message;
    problems.push(
      `${route.method} ${route.url}: ${said}\n    ${shown(sent)}\n      log ${logged.slice(-2).join('').slice(0, 1500)}`,
    );
  }
  expect(problems.join('\n\n')).toBe('');
  // Otherwise all requests might be refused before they reach a handler.
  for (const status of [200, 201, 204, 303, 400, 401, 403, 404, 409, 413, 415]) {
    expect([status, answers.get(status) ?? 0]).not.toEqual([status, 0]);
  }
});

/** Returns logged text that must not be kept: with the marker, the credentials or the client's address. */
function logProblem(credentials: Record<string, string>[]): string | null {
  const secrets = credentials.flatMap((headers) => headers.authorization ?? headers['x-api-key'] ?? []);
  const forbidden = [marker, remoteAddress, password, ...secrets.map((secret) => secret.slice(-40))];
  const text = logged.join('');
  const found = forbidden.find((secret) => text.toLowerCase().includes(secret.toLowerCase()));
  return found === undefined
    ? null
    : `the log holds ${found === marker ? 'what was sent' : createHash('sha256').update(found).digest('hex').slice(0, 8)}`;
}

test.each([
  ['arrays', '[', ']'],
  ['objects', '{"a":', '}'],
])(
  '%s nested too deeply are refused wherever they occur, and brackets in texts are not counted',
  async (_, open, close) => {
    const deep = `${open.repeat(5_000)}1${close.repeat(5_000)}`;
    const fresh = await newAccount(api); // the fuzzer has renamed and deleted in the other one
    const [key, owner] = [await fresh.apiKey(), await fresh.as('owner')];
    const send = (url: string, headers: object, payload: string) =>
      api.app.inject({
        method: 'POST',
        url,
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'deep' },
        payload,
      });
    const email = `${newMarked('deep')}@example.com`;
    const { client } = await api.services.clientManagement.create(fresh.scope, { ...clientSettings, name: 'Deep' });
    const rotate = fresh.portalPath(`/oauth-clients/${client.id}/rotate-secret`);
    const answers = [
      await send(rotate, owner, deep),
      await send('/api/v1/identities', key, `{"email":"${email}","metadata":{"x":${deep}}}`),
      await send('/oauth/token', {}, deep),
      await send('/v1/auth/login', {}, deep),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400, 400]);
    expect(answers[0]?.json().error).toMatchObject({ code: 'validation.failed', details: [{ code: 'too_deep' }] });
    const text = JSON.stringify({ email, metadata: { x: `\\"${'[{'.repeat(500)}`, y: [[[[{}]]]] } });
    expect((await send('/api/v1/identities', key, text)).statusCode).toBe(201);
  },
);

describe('input that would not be stored as it was sent is refused before anything reads it', () => {
  /** Writes lone surrogates as a client does that escapes what is no whole character. */
  const raw = (fields: object) => JSON.stringify(fields).replaceAll('HALF', '\\ud800');
  const send = (method: 'POST' | 'PATCH', url: string, headers: object, payload: string, type = 'application/json') =>
    api.app.inject({ method, url, headers: { ...headers, 'content-type': type }, payload });
  const unstorable = (field: string) => ({
    error: { code: 'validation.failed', details: [{ field, code: 'unstorable' }] },
  });

  test.each(['HALF', 'HALF\ud83d\ude00'])('by the APIs: %j', async (odd) => {
    const fresh = await newAccount(api); // the fuzzer has renamed and deleted in the other one
    const [key, owner] = [await fresh.apiKey(), await fresh.as('owner')];
    const email = () => `${newMarked('odd')}@example.com`;
    const evaluated = { action: { name: 'door.open' }, resource: { type: 'node', id: person.id } };
    const answers = [
      await send('POST', '/api/v1/roles', key, raw({ name: newMarked('Role'), description: odd })),
      await send('POST', '/api/v1/identities', key, raw({ email: email(), password: `aaaaaaaa long ${odd}` })),
      await send('POST', '/api/v1/identities', key, raw({ email: email(), metadata: { [odd]: [1] } })),
      await send('PATCH', fresh.portalPath(''), owner, raw({ name: odd })),
      await send('POST', '/v1/auth/login', {}, raw({ email: email(), password: odd })),
      await send('POST', '/v1/identity/auth/login', {}, raw({ client_id: clientId, email: email(), password: odd })),
      await send('POST', '/access/v1/evaluation', key, raw({ ...evaluated, subject: { type: 'identity', id: odd } })),
    ];
    const fields = ['description', 'password', 'metadata', 'name', 'password', 'password', 'subject.id'];
    expect(answers.map((answer) => answer.json())).toMatchObject(fields.map(unstorable));
    // Whole characters are accepted, however they are escaped.
    const whole = String.raw`{"name":"${newMarked('Role')}","description":"\ud83d\ude00 \\ud800 \\u0000"}`;
    const made = await send('POST', '/api/v1/roles', key, whole);
    expect([made.statusCode, made.json().data.description]).toEqual([201, '😀 \\ud800 \\u0000']);
  });

  test('by OAuth and its pages, each with its own error', async () => {
    const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: 'HALF' };
    const token = await send('POST', '/oauth/token', {}, raw(fields));
    expect([token.statusCode, token.json().error]).toEqual([400, 'invalid_request']);
    const page = await send('POST', '/oauth/authorize', { accept: 'text/html' }, raw({ email: 'HALF', password: 'b' }));
    expect([page.statusCode, page.body]).toEqual([400, expect.stringContaining('</html>')]);
  });

  test('a number beyond a double’s range', async () => {
    const key = await account.apiKey();
    const email = `${newMarked('big')}@example.com`;
    const { id } = (await send('POST', '/api/v1/identities', key, JSON.stringify({ email }))).json().data;
    for (const number of ['1e400', '-1e400', `${'9'.repeat(400)}`]) {
      const answer = await send('PATCH', `/api/v1/identities/${id}`, key, `{"metadata":{"n":[${number}]}}`);
      expect([answer.statusCode, answer.json()]).toMatchObject([400, unstorable('metadata.n[0]')]);
    }
    const largest = await send('PATCH', `/api/v1/identities/${id}`, key, '{"metadata":{"n":1.7976931348623157e308}}');
    expect([largest.statusCode, largest.json().data.metadata]).toEqual([200, { n: Number.MAX_VALUE }]);
  });

  test('percent-decoding leaves invalid characters in a URL as they are', async () => {
    const q = '%ED%A0%80';
    const answer = await api.app.inject({ url: `/api/v1/roles?q=${q}`, headers: await account.apiKey() });
    expect([answer.statusCode, answer.json().items]).toEqual([200, []]);
    const nul = await api.app.inject({ url: '/api/v1/roles?q=%00', headers: await account.apiKey() });
    expect([nul.statusCode, nul.json()]).toMatchObject([400, unstorable('query.q')]);
  });
});

test('a path with a part longer than any id is 404 in the envelope', async () => {
  const answer = await api.app.inject({ url: `/api/v1/api-keys/${'x'.repeat(301)}`, headers: await account.apiKey() });
  expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'route.not_found']);
});

test('a path with an empty parameter is unknown, on every surface and for every method', async () => {
  const key = await account.apiKey();
  const routes = routesIn(api.app.printRoutes({ commonPrefix: false, includeHooks: false }));
  const withParameters = routes.filter(({ method, url }) => /:\w/.test(url) && !['HEAD', 'OPTIONS'].includes(method));
  expect(withParameters.length).toBeGreaterThan(150);
  for (const { method, url } of withParameters) {
    const names = url.match(/:\w+/g) as string[];
    for (const empty of names) {
      const path = url.replace(/:\w+/g, (name) => (name === empty ? '' : person.id));
      const answer = await api.app.inject({ method: method as 'GET', url: path, headers: key });
      expect([method, path, answer.statusCode]).toEqual([method, path, 404]);
      if (/^\/(api|portal|v1)\//.test(path)) expect(answer.json().error.code).toBe('route.not_found');
    }
  }
  for (const [method, path] of [
    ['POST', '/api/v1/roles/'],
    ['PUT', '/api/v1/nodes/'],
    ['GET', '/api/v1/identities/?take=5'],
  ] as const) {
    const answer = await api.app.inject({ method, url: path, headers: key });
    expect([path, answer.statusCode, answer.json().error.code]).toEqual([path, 404, 'route.not_found']);
    expect(answer.headers.allow).toBeUndefined();
  }
  // A path that accepts any rest accepts an empty one.
  expect((await api.app.inject({ url: '/docs/' })).statusCode).toBe(200);
});

test('a path that cannot be decoded is 400 in the envelope, with the usual headers', async () => {
  const answer = await api.app.inject({ url: '/api/v1/api-keys/%zz', headers: await account.apiKey() });
  expect([answer.statusCode, answer.json().error.path]).toEqual([400, '/api/v1/api-keys/%zz']);
  expect(answer.headers).toMatchObject({
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
});

test('a connection that does not speak HTTP is refused, and others continue', async () => {
  await api.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = api.app.server.address() as { port: number };
  const host = 'Host: localhost\r\n';
  const garbage = [
    'hello\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', // TLS
    `GET / HTTP/9.9\r\n${host}\r\n`,
    `GET /healthz HTTP/1.1\r\n\r\n`, // no Host
    `GET /healthz HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
    `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`,
    `GET /\x00 HTTP/1.1\r\n${host}\r\n`,
    `GET //evil.example/%2e%2e HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    `GET http://evil.example/healthz?${marker} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    `OPTIONS * HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    `TRACE / HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    `POST /oauth/token HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`,
    `POST /oauth/token HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST /oauth/token HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `POST /v1/auth/login HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{`,
    `POST /v1/auth/login HTTP/1.1\r\n${host}Content-Type: application/json\r\nExpect: 200-maybe\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
    `GET /healthz HTTP/1.1\r\n${host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    `CONNECT evil.example:443 HTTP/1.1\r\n${host}\r\n`,
  ];
  logged.length = 0;
  for (const text of garbage) {
    const answer = await said(port, text);
    expect([text.slice(0, 60), answer]).toEqual([
      text.slice(0, 60),
      expect.stringMatching(/^$|^HTTP\/1\.1 [2-4]\d\d /),
    ]);
    expect(answer).not.toMatch(ours);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  }
  expect(logged.join('')).not.toContain(marker);
});

test.each([
  ['text that is no HTTP', 'hello\r\n\r\n', [400, 'request.malformed']],
  ['an invalid Content-Length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n', [400, 'request.malformed']],
  [
    'a long header',
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    [431, 'request.headers_too_large'],
  ],
  ['a long address', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, [431, 'request.headers_too_large']],
])('%s is refused in the envelope', async (_name, text, refused) => {
  if (!api.app.server.listening) await api.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = api.app.server.address() as { port: number };
  const [head = '', body = ''] = (await said(port, text)).split('\r\n\r\n');
  const { error } = JSON.parse(body);
  expect([error.statusCode, error.code]).toEqual(refused);
  expect(error).toMatchObject({ message: expect.any(String), path: '', method: '' });
  expect([head, head]).toEqual([expect.stringMatching(`^HTTP/1.1 ${refused[0]} `), expect.stringMatching('no-store')]);
});

test('an unknown Expect header is ignored', async () => {
  if (!api.app.server.listening) await api.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = api.app.server.address() as { port: number };
  const head =
    'Host: a\r\nExpect: 200-maybe\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2';
  const answer = await said(port, `POST /v1/auth/login HTTP/1.1\r\n${head}\r\n\r\n{}`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').error.code).toBe('validation.failed');
});

test('a caller that disconnects in the middle of a body is no outage in the log', async () => {
  if (!api.app.server.listening) await api.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = api.app.server.address() as { port: number };
  logged.length = 0;
  const head = 'Host: a\r\nContent-Type: application/json\r\nContent-Length: 20';
  expect(await said(port, `POST /v1/auth/login HTTP/1.1\r\n${head}\r\n\r\n{`)).toBe('');
  while (!logged.join('').includes('the caller was gone')) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(logged.join('')).not.toContain('unavailable');
});

/** Returns what a connection receives until the server ends it, or until a second without more. */
function said(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
  });
}

describe('very many mistakes in one body', () => {
  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, 0]));
  const refused = async (url: string, payload: object, headers: Record<string, string> = {}) => {
    const answer = await api.app.inject({ method: 'POST', url, headers, payload });
    return { status: answer.statusCode, details: answer.json().error.details as { field: string; code: string }[] };
  };

  test.each(['/v1/identity/auth/refresh', '/v1/auth/login'])('are not all listed by %s', async (url) => {
    const few = await refused(url, names(30));
    expect([few.status, few.details.length, few.details.at(-1)?.code]).toEqual([400, 20, 'unknown_field']);
    const many = await refused(url, names(5000));
    expect(many).toEqual({ status: 400, details: [{ field: '', code: 'too_many', message: expect.any(String) }] });
  });

  test('refuse a whole bulk request, where a thousand elements would each be reported', async () => {
    const key = await account.apiKey();
    const bulk = (count: number) => ({
      identities: Array.from({ length: 1000 }, () => ({ email: 'x', ...names(count) })),
    });
    const answer = await api.app.inject({
      method: 'POST',
      url: '/api/v1/identities/bulk',
      headers: key,
      payload: bulk(5),
    });
    expect(answer.statusCode).toBe(200);
    const { items } = answer.json();
    expect(items).toHaveLength(1000);
    expect(items[999].error.details).toHaveLength(6);
    const { status, details } = await refused('/api/v1/identities/bulk', bulk(40), key);
    expect([status, details.length, details[0]?.field]).toEqual([400, 20, expect.stringMatching(/^identities\[0]\./)]);
  });
});
