import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { Account } from '../../entities/account.js';
import { Application } from '../../entities/application.js';
import type { EmailedCodePurpose } from '../../entities/emailed-code.js';
import { Environment } from '../../entities/environment.js';
import { EnvironmentMembership } from '../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../entities/environment-settings.js';
import { Erasure } from '../../entities/erasure.js';
import { Identity } from '../../entities/identity.js';
import { OAuthClient } from '../../entities/oauth-client.js';
import { environmentDefaults } from '../../src/domain/environments/defaults.js';
import { createIdempotentRequests } from '../../src/domain/idempotency.js';
import { createApiLogins } from '../../src/domain/logins/api-logins.js';
import { digitsOf } from '../../src/domain/logins/emailed-codes.js';
import { createLogins } from '../../src/domain/logins/logins.js';
import { createMfaGraces } from '../../src/domain/mfa/grace/grace.js';
import { createSigningKeys } from '../../src/domain/oidc/keys.js';
import { createProvider } from '../../src/domain/oidc/provider.js';
import { createRefreshTokens } from '../../src/domain/oidc/tokens/refresh-tokens.js';
import { createPasswords } from '../../src/domain/passwords/passwords.js';
import { tracedPasswords } from '../../src/domain/passwords/traced.js';
import { createSso } from '../../src/domain/sso-sign-in/sso.js';
import { buildApp } from '../../src/http/app.js';
import { identityAuth } from '../../src/http/identity-auth/index.js';
import { createHttpMetrics } from '../../src/http/metrics.js';
import { oauth } from '../../src/http/oauth/index.js';
import { sso as ssoPages } from '../../src/http/sso/index.js';
import { createRateLimits } from '../../src/http/surfaces/rate-limits.js';
import { wellKnown } from '../../src/http/well-known.js';
import { createCaptcha } from '../../src/platform/captcha.js';
import { hashSecret, newSecret } from '../../src/platform/crypto/one-time-secret.js';
import { createSealing, type Sealing } from '../../src/platform/crypto/sealing.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import { tracedCaptcha } from '../../src/platform/tracing/traced-calls.js';
import { cheapCodes } from './cheap-codes.js';
import { checkAgainstDocument } from './conformance.js';
import { newDatabase, openTestDb, rowsAsOwner, type TestDatabase } from './database.js';
import { hashPassword, verifyPassword } from './password-hashing.js';
import { patience } from './patience.js';

export const password = 'correct horse battery';
export const redirectUri = 'https://app.example.com/callback?tenant=1';
export const loggedOutUri = 'https://app.example.com/signed-out';
let passwordHash: Promise<string> | undefined;

export interface TestProviderOptions {
  baseUrl?: string;
  rateLimits?: boolean;
  /** The limit of requests a minute for an end user's token. */
  jwtPerMinute?: number;
  /** Networks that the provider may fetch keys from. */
  allowedNetworks?: readonly string[];
  /** Where captchas are verified; null means nowhere: a required captcha then refuses everybody. */
  captchaUrl?: string | null;
  /** Runs as another process of the same service, with the database and keys of this one. */
  beside?: { database: TestDatabase; sealing: Sealing };
  /** What its clock shows at first; an external provider uses the real time. */
  startsAt?: Date;
}

/** Starts the provider on its own database, behind the real HTTP layer, with a clock that the test moves. */
export async function newProvider({
  baseUrl = 'http://localhost:3000',
  rateLimits = false,
  jwtPerMinute = 100_000,
  allowedNetworks,
  captchaUrl = null,
  beside,
  startsAt = new Date('2026-03-01T12:00:00Z'),
}: TestProviderOptions = {}) {
  const database = beside ? await sameDatabase(beside.database) : await newDatabase({ poolSize: 10 });
  const { db } = database;
  let time = startsAt.getTime();
  const now = () => new Date(time);
  const sealing = beside?.sealing ?? createSealing([{ id: 'test', key: randomBytes(32) }]);
  const keys = createSigningKeys({ db, sealing, issuer: baseUrl, now });
  const refreshTokens = createRefreshTokens({ db, sealing, now });
  const faults: unknown[] = [];
  const passwords = tracedPasswords(createPasswords({ breachUrl: null, onOutage: () => {}, hashing: cheapCodes }));
  const logins = createLogins({
    db,
    sealing,
    passwords,
    graces: createMfaGraces({ db, now, reminders: [] }),
    rateLimits,
    baseUrl,
    onRehashError: (error) => faults.push(error),
    now,
  });
  const outbound = createOutbound({ allowedNetworks, withinMs: patience });
  const provider = createProvider({ db, keys, refreshTokens, outbound, baseUrl, now });
  const sso = createSso({ db, sealing, outbound, passwords, users: { signIn: nobody }, baseUrl, rateLimits, now });
  const captchaKeys = { siteKey: captchaUrl && 'site-key', secretKey: captchaUrl && 'secret-key' };
  const captcha = tracedCaptcha(createCaptcha({ ...captchaKeys, verifyUrl: captchaUrl ?? '' }));
  const api = createApiLogins({ db, sealing, passwords: { verify: verifyPassword }, logins, provider, now });
  const limits = createRateLimits({
    enabled: rateLimits,
    db,
    perMinute: { apiKey: 100_000, jwt: jwtPerMinute, anonymous: 100_000 },
  });
  const answeredTwice: string[] = [];
  const write = (line: string) => void (line.includes('already sent') && answeredTwice.push(line));
  const app = await buildApp({
    baseUrl,
    logger: pino({ level: 'warn' }, { write }),
    trustProxy: false,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [
      async (surface) => void (await surface.register(oauth, { provider, logins, sso, limits, captcha })),
      async (surface) => void (await surface.register(ssoPages, { provider, logins, sso, limits, captcha })),
      async (surface) => void (await surface.register(wellKnown, { baseUrl, keys })),
      async (surface) => {
        const idempotentRequests = createIdempotentRequests({ db, sealing });
        const options = { provider, logins, api, leaving: sso.leaving, captcha, limits, idempotentRequests };
        await surface.register(identityAuth, { prefix: '/v1/identity/auth', ...options });
      },
    ],
  });
  checkAgainstDocument(app, 'oauth');

  const query = <Row>(text: string, values: unknown[] = []) => rowsAsOwner<Row>(database.ownerUrl, text, values);

  return {
    app,
    baseUrl,
    database,
    db,
    keys,
    provider,
    logins,
    sealing,
    sso,
    refreshTokens,
    faults,
    now,
    query,
    /** Returns the digits of the newest code mailed for a purpose, as the mail will contain them. */
    async mailedCode(purpose: EmailedCodePurpose): Promise<string> {
      const [row] = await query<{ id: string; keyId: string }>(
        'select id, key_id as "keyId" from emailed_codes where purpose = $1 order by created_at desc, id desc limit 1',
        [purpose],
      );
      if (!row) throw new Error(`no code was mailed for ${purpose}`);
      return digitsOf(sealing, row).digits;
    },
    /** Moves the clock. */
    wait: (ms: number) => {
      time += ms;
    },
    newEnvironment: (settings: Partial<EnvironmentSettings> = {}) => newEnvironment(db, now(), settings),
    browser: (remoteAddress?: string) => new Browser(app, remoteAddress),
    events: (action: string) =>
      query<{ action: string; outcome: string; resource_id: string; account_id: string }>(
        'select * from events where action = $1',
        [action],
      ),
    close: async () => {
      await app.close();
      await outbound.close();
      await database.close();
      // Awaiting a reply yields undefined: a handler that acts on this result answers a second time.
      if (answeredTwice.length > 0) throw new Error(`requests were answered twice:\n${answeredTwice.join('')}`);
    },
  };
}

async function sameDatabase({ url, ownerUrl }: TestDatabase): Promise<TestDatabase> {
  const db = await openTestDb(url, 10);
  return { url, ownerUrl, db, close: () => db.close() };
}

export type TestProvider = Awaited<ReturnType<typeof newProvider>>;
type Database = Awaited<ReturnType<typeof newDatabase>>['db'];

async function newEnvironment(db: Database, at: Date, settings: Partial<EnvironmentSettings>) {
  const [accountId, applicationId, environmentId] = [uuidv7(), uuidv7(), uuidv7()];
  const scope = { accountId, applicationId, environmentId };
  const times = { createdAt: at, updatedAt: at };
  await db.transaction('system', async (tx) => {
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: `acme-${accountId}`, ...times });
    await tx.insert(Application, { id: applicationId, accountId, name: 'Shop', slug: 'shop', ...times });
    await tx.insert(Environment, {
      id: environmentId,
      accountId,
      applicationId,
      name: 'Development',
      slug: 'development',
      type: 'development',
      ...times,
    });
    await tx.insert(EnvironmentSettings, {
      environmentId,
      accountId,
      ...environmentDefaults(),
      branding: { name: 'Acme', logo_url: null, primary_color: null, support_email: null },
      updatedAt: at,
      ...settings,
    });
  });

  return {
    ...scope,
    async newClient(overrides: Partial<OAuthClient> = {}) {
      const method = overrides.tokenEndpointAuthMethod ?? 'none';
      const secret = method.startsWith('client_secret') ? newSecret() : null;
      const client = {
        ...scope,
        id: uuidv7(),
        clientId: uuidv7(),
        name: 'Shop web',
        clientType: method === 'none' ? 'public' : 'confidential',
        redirectUris: [redirectUri, 'http://127.0.0.1/cb'],
        postLogoutRedirectUris: [loggedOutUri],
        tokenEndpointAuthMethod: method,
        secretHash: secret === null ? null : hashSecret(secret),
        previousSecretHash: null,
        previousSecretExpiresAt: null,
        requirePkce: true,
        rotateRefreshTokens: method === 'none',
        scopes: ['openid', 'profile', 'email', 'org', 'permissions'],
        consentRequired: false,
        jwks: null,
        jwksUri: null,
        logoUrl: null,
        initiateLoginUri: null,
        backchannelLogoutUri: null,
        backchannelLogoutSessionRequired: false,
        ...times,
        ...overrides,
      } satisfies OAuthClient;
      await db.transaction('system', (tx) => tx.insert(OAuthClient, client));
      return { ...client, secret };
    },
    /** Begins the erasure of a person without a worker that carries it out. */
    async beginErasure(identityId: string) {
      const erasure = { id: uuidv7(), accountId, identityId, status: 'running' as const, actorType: 'system' };
      const rest = { actorId: null, correlationId: uuidv7(), endedReason: null, rest: null, endedAt: null };
      await db.transaction('system', (tx) => tx.insert(Erasure, { ...erasure, ...rest, createdAt: at }));
    },
    async newIdentity(overrides: Partial<Identity & { isActive: boolean; isMember: boolean }> = {}) {
      const { isActive = true, isMember = true, ...fields } = overrides;
      const id = uuidv7();
      passwordHash ??= hashPassword(password);
      const identity = {
        id,
        accountId,
        email: `ana-${id}@example.com`,
        emailVerifiedAt: at,
        firstName: 'Ana',
        lastName: 'Arendt',
        avatarUrl: null,
        externalId: null,
        metadata: {},
        passwordHash: await passwordHash,
        passwordChangedAt: at,
        ...times,
        ...fields,
      };
      await db.transaction('system', async (tx) => {
        await tx.insert(Identity, identity);
        if (!isMember) return;
        const membership = { id: uuidv7(), accountId, environmentId, identityId: id, isActive, createdAt: at };
        await tx.insert(EnvironmentMembership, membership);
      });
      return identity;
    },
  };
}

export type TestEnvironment = Awaited<ReturnType<typeof newEnvironment>>;
export type TestClient = Awaited<ReturnType<TestEnvironment['newClient']>>;

/** A browser with a cookie jar that sends forms. */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** @param remoteAddress the address that the rate limits by network see */
  constructor(
    readonly app: FastifyInstance,
    private readonly remoteAddress = '127.0.0.1',
  ) {}

  async get(url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
    const { remoteAddress } = this;
    return this.keep(await this.app.inject({ method, url, headers: this.headers(headers), remoteAddress }));
  }
  /** Requests only the headers, as link checkers do. */
  head = (url: string) => this.get(url, {}, 'HEAD');
  async post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const payload = new URLSearchParams(fields).toString();
    const { remoteAddress } = this;
    const sent = { ...form, ...headers };
    return this.keep(
      await this.app.inject({ method: 'POST', url, payload, headers: this.headers(sent), remoteAddress }),
    );
  }
  /** Submits the form of a page with its hidden fields, as a person would. */
  submit(page: LightMyRequestResponse, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const hidden = [...page.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
    const context = Object.fromEntries(hidden.map(([, name, value]) => [name, unescaped(value ?? '')]));
    const action = /<form method="post" action="([^"]+)"/.exec(page.body)?.[1] ?? '';
    return this.post(action, { ...context, ...fields }, headers);
  }
  private headers(more: Record<string, string>) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { accept: 'text/html', ...(cookie && { cookie }), ...more };
  }
  private keep(response: LightMyRequestResponse) {
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0 || value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

const unescaped = (html: string) =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** Returns a PKCE verifier with its challenge. */
export function newPkce() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export function authorizeUrl(
  client: Pick<OAuthClient, 'clientId'>,
  more: Record<string, string | undefined> = {},
): string {
  const parameters = {
    client_id: client.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile email',
    state: 'the state',
    nonce: 'the nonce',
    code_challenge: newPkce().challenge,
    code_challenge_method: 'S256',
    ...more,
  };
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/oauth/authorize?${new URLSearchParams(given)}`;
}

/** Returns the URL that an answer redirects to. */
export function locationOf(response: LightMyRequestResponse): URL {
  return new URL(String(response.headers.location), 'http://localhost:3000');
}

/** Signs a person in through the page; returns the authorization code. */
export async function codeFor(
  browser: Browser,
  client: Pick<OAuthClient, 'clientId'>,
  email: string,
  more: Record<string, string | undefined> = {},
) {
  const { verifier, challenge } = newPkce();
  const url = authorizeUrl(client, { code_challenge: challenge, ...more });
  let response = await browser.get(url);
  if (response.statusCode === 200) response = await browser.submit(response, { email, password });
  const code = locationOf(response).searchParams.get('code');
  if (!code) throw new Error(`no code: ${response.statusCode} ${response.headers.location ?? response.body}`);
  return { code, verifier, redirect: more.redirect_uri ?? redirectUri };
}

export interface TokenBody {
  access_token: string;
  id_token: string;
  refresh_token: string;
  scope: string;
  expires_in: number;
  token_type: string;
  error?: string;
  error_description?: string;
}

/** Posts to the token endpoint with the client's own authentication method. */
export async function postToken(
  app: FastifyInstance,
  client: TestClient,
  fields: Record<string, string | undefined>,
  url = '/oauth/token',
) {
  const basic = client.tokenEndpointAuthMethod === 'client_secret_basic';
  const given = Object.entries({
    ...(!basic && { client_id: client.clientId }),
    ...(client.tokenEndpointAuthMethod === 'client_secret_post' && { client_secret: client.secret ?? '' }),
    ...fields,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return app.inject({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(basic && { authorization: basicOf(client.clientId, client.secret ?? '') }),
    },
    payload: new URLSearchParams(given).toString(),
  });
}

export const basicOf = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

export const redeem = (
  app: FastifyInstance,
  client: TestClient,
  { code, verifier, redirect }: Awaited<ReturnType<typeof codeFor>>,
) =>
  postToken(app, client, { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier });

export const refresh = (app: FastifyInstance, client: TestClient, token: string, more: Record<string, string> = {}) =>
  postToken(app, client, { grant_type: 'refresh_token', refresh_token: token, ...more });

/** Signs a person in and redeems the code for tokens. */
export async function tokensFor(
  browser: Browser,
  client: TestClient,
  email: string,
  more: Record<string, string | undefined> = {},
): Promise<TokenBody> {
  const response = await redeem(browser.app, client, await codeFor(browser, client, email, more));
  if (response.statusCode !== 200) throw new Error(`no tokens: ${response.body}`);
  return response.json();
}

export const userinfo = (app: FastifyInstance, token: string) =>
  app.inject({ method: 'GET', url: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } });

/** There are no administrators here; tests of administrators start the whole api. */
const nobody = { signInByProvider: () => Promise.reject(new Error('there are no administrators here')) };
