import { createHash } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { v4 as uuidv4 } from 'uuid';
import { outcomeOf } from '../answers.js';
import { baseUrl, newAccount, type TestAccount, type TestApi } from '../api.js';
import { totpCode } from '../mfa.js';
import { type Calls, callsWith } from '../nodes.js';
import { publicClient } from '../public-client.js';
import { createRandom, type Random } from '../random.js';
import { AuthorizationModel } from './authorization-model.js';
import type { ModelClient } from './authorization-requests.js';
import type { ModelBrowser, Person } from './authorization-states.js';
import { Browser, hiddenFields } from './browser.js';
import { TokenModel } from './token-model.js';
import { basicOf } from './tokens.js';

/** The Environment in which random authorization requests are made: four clients, two people, three browsers. */

export const password = 'violet tractor 19';
const accepting = { accept: 'text/html' };

interface Authenticated {
  headers: Record<string, string>;
  fields: Record<string, string>;
}
/** A client and how it authenticates. */
export interface LiveClient {
  id: string;
  name: string;
  model: ModelClient;
  /** Returns headers and parameters that authenticate it. */
  authenticated(): Promise<Authenticated>;
}
export interface LiveBrowser {
  model: ModelBrowser;
  browser: Browser;
}
/** Notes a line about a step. */
export type Tell = (line: string) => void;
export interface World {
  api: TestApi;
  now(): number;
  random: Random;
  model: AuthorizationModel;
  tokens: TokenModel;
  scope: TestAccount['scope'];
  key: Calls;
  clients: LiveClient[];
  /** A confidential client of another Environment, which the first person is in, too. */
  stranger: LiveClient;
  browsers: LiveBrowser[];
  /** The secret of a person's authenticator app. */
  apps: Map<string, string>;
  /** Tokens that are no ID tokens of this service. */
  noHints: string[];
}

type Given = Partial<Omit<ModelClient, 'clientId'>> &
  Pick<ModelClient, 'redirectUris'> & { method: 'none' | 'client_secret_basic' | 'private_key_jwt' };
const all = ['openid', 'profile', 'email', 'org', 'permissions'];

async function newClient(
  { services, clock }: TestApi,
  scope: TestAccount['scope'],
  name: string,
  given: Given,
): Promise<LiveClient> {
  const { method, redirectUris, scopes = [...all], isThirdParty = false, needsPkce = true, rotates = true } = given;
  const isPublic = method === 'none';
  const pair = method === 'private_key_jwt' ? await generateKeyPair('ES256') : null;
  const { client, secret } = await services.clientManagement.create(scope, {
    ...publicClient,
    ...{ name, redirectUris, scopes: scopes as never, consentRequired: isThirdParty, requirePkce: needsPkce },
    ...{
      clientType: isPublic ? 'public' : 'confidential',
      tokenEndpointAuthMethod: method,
      rotateRefreshTokens: rotates,
    },
    jwks: pair && ({ keys: [await exportJWK(pair.publicKey)] } as never),
  });
  const { clientId } = client;
  const assertion = (key: CryptoKey) =>
    new SignJWT({ iss: clientId, sub: clientId, aud: baseUrl, jti: uuidv4() })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime(Math.floor(clock.now.getTime() / 1000) + 60)
      .sign(key);
  return {
    id: client.id,
    name,
    model: { clientId, isPublic, isThirdParty, needsPkce, rotates, redirectUris, scopes },
    async authenticated(): Promise<Authenticated> {
      if (secret) return { headers: { authorization: basicOf(clientId, secret) }, fields: {} };
      if (!pair) return { headers: {}, fields: { client_id: clientId } };
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
      return { headers: {}, fields: { client_assertion_type, client_assertion: await assertion(pair.privateKey) } };
    },
  };
}

const clientsOf = (api: TestApi, scope: TestAccount['scope']): Promise<LiveClient[]> => {
  const scopes = ['openid', 'profile', 'email', 'org'];
  const made: [string, Given][] = [
    [
      'app',
      {
        method: 'none',
        redirectUris: ['https://app.example.com/callback?tenant=1', 'http://127.0.0.1/cb', 'com.example.app:/cb'],
      },
    ],
    [
      'web',
      {
        method: 'client_secret_basic',
        redirectUris: ['https://web.example.com/cb'],
        scopes,
        needsPkce: false,
        rotates: false,
      },
    ],
    [
      'partner',
      {
        method: 'private_key_jwt',
        redirectUris: ['https://partner.example.com/cb'],
        isThirdParty: true,
        needsPkce: false,
      },
    ],
    [
      'gadget',
      {
        method: 'none',
        redirectUris: ['http://127.0.0.1:8080/gadget', 'https://gadget.example.com/cb'],
        isThirdParty: true,
      },
    ],
  ];
  return Promise.all(made.map(([name, given]) => newClient(api, scope, name, given)));
};

export async function newWorld(api: TestApi, seed: number): Promise<World> {
  const random = createRandom(seed);
  const account = await newAccount(api);
  const isProduction = random.below(2) === 0;
  const [scope, other] = isProduction
    ? [account.productionScope, account.scope]
    : [account.scope, account.productionScope];
  const keyOf = async (place: TestAccount['scope']) => callsWith(api, await account.apiKey('full', place));
  const key = await keyOf(scope);
  const slug = 'acme';
  const { id } = (await key('POST', '/organizations', { name: 'Acme', slug })).json().data;
  const clients = await clientsOf(api, scope);
  const canPostpone = random.below(2) === 0;
  const models = clients.map(({ model }) => model);
  const model = new AuthorizationModel(isProduction, canPostpone, models, { id, slug, isOpen: true }, new Map());
  const stranger = await newClient(api, other, 'stranger', {
    method: 'client_secret_basic',
    redirectUris: ['https://web.example.com/cb'],
  });
  const browsers = Array.from({ length: 3 }, () => ({
    model: { session: null, trusts: new Set<Person>() },
    browser: new Browser(api.app),
  }));
  const tokens = new TokenModel(model);
  const now = () => api.clock.now.getTime();
  const it = {
    api,
    now,
    random,
    model,
    tokens,
    scope,
    key,
    clients,
    stranger,
    browsers,
    apps: new Map(),
    noHints: ['nonsense'],
  };
  const settings = { passwordLoginEnabled: true, passkeyLoginEnabled: true, mfaPolicy: model.settings.mfaPolicy };
  await changeSettings(it, {
    ...settings,
    mfaGracePeriodDays: canPostpone ? 365 : 0,
    refreshTokenTtlSeconds: 30 * 86_400,
  });
  for (const name of ['ana', 'ben']) {
    const email = `${name}-${account.accountSlug}@example.com`;
    const profile = { email, email_verified: true, password, first_name: name, last_name: 'Berg' };
    const identity = (await key('POST', '/identities', profile)).json().data;
    model.people.push({ id: identity.id, email, hasApp: false, isActive: true, isMember: false });
  }
  await giveApp(it, model.people[1] as Person);
  await (await keyOf(other))('POST', '/identities', { email: model.people[0]?.email });
  return it;
}

/** Changes settings of the Environment; a client and its Environment are cached for at most a second. */
export async function changeSettings({ api, scope }: Pick<World, 'api' | 'scope'>, changes: object): Promise<void> {
  const { version } = await api.services.environmentSettings.get(scope);
  await api.services.environmentSettings.update(scope, version, changes);
  api.clock.advance(1000);
}

/** Gives a person an authenticator app, as they do by the end-user API. */
async function giveApp({ api, clients, apps, key }: World, person: Person): Promise<void> {
  const post = async (path: string, payload: object, token = '') => {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    return (await api.app.inject({ method: 'POST', url: `/v1/identity/auth${path}`, headers, payload })).json().data;
  };
  const { access_token } = await post('/login', {
    client_id: clients[0]?.model.clientId,
    email: person.email,
    password,
  });
  const { enrollment_token, secret } = await post('/mfa/totp/enroll', {}, access_token);
  await post('/mfa/totp/confirm', { enrollment_token, code: totpCode(secret, api.clock.now) }, access_token);
  await key('DELETE', `/identities/${person.id}/sessions`); // what begins by the pages alone is compared
  apps.set(person.id, secret);
  person.hasApp = true;
}

/** Sends a form to an endpoint as a client. */
export async function sendAs({ api }: World, client: LiveClient, path: string, more: Record<string, string>) {
  const { headers, fields } = await client.authenticated();
  const payload = new URLSearchParams({ ...fields, ...more }).toString();
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return api.app.inject({ method: 'POST', url: `/oauth/${path}`, headers: { ...type, ...headers }, payload });
}

/** What a browser is shown at last, or what it brings to a client. */
export type Seen =
  | { is: string; page: LightMyRequestResponse }
  | { is: 'answer'; to: string; mode: string; said: Record<string, string> };

/** Follows the service's own redirects, and says where they end. */
export async function seen(browser: Browser, answer: LightMyRequestResponse, hops = 0): Promise<Seen> {
  if (hops > 6) throw new Error(`it goes round in circles: ${answer.headers.location}`);
  const { statusCode, headers, body } = answer;
  if (statusCode === 303) {
    const location = String(headers.location);
    if (location.startsWith('/')) return seen(browser, await browser.get(location, accepting), hops + 1);
    const added = location.search(/[?&](?:code|error)=/);
    const to = location.slice(0, added);
    return {
      is: 'answer',
      to,
      mode: 'query',
      said: Object.fromEntries(new URLSearchParams(location.slice(added + 1))),
    };
  }
  const action = /<form method="post" action="([^"]+)" data-form-post>/.exec(body)?.[1];
  if (action)
    return { is: 'answer', to: action.replaceAll('&amp;', '&'), mode: 'form_post', said: hiddenFields(answer) };
  const marks = {
    challenge: 'name="challenge_token"',
    'enroll or later': 'value="later"',
    enroll: 'name="enrollment_token"',
    consent: 'value="allow"',
    'select-account': 'value="continue"',
    'sign-in': 'name="password"',
    passkey: '/oauth/login/passkey/options',
  };
  const is = Object.entries(marks).find(([, mark]) => body.includes(mark))?.[0];
  if (statusCode === 200 && is) return { is, page: answer };
  return { is: { 400: 'error page', 403: 'barred' }[statusCode] ?? `${statusCode} ${outcomeOf(answer)}`, page: answer };
}

/** The left half of a token's hash (OpenID Connect Core 3.1.3.6). */
export const halfHash = (token: string) =>
  createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url');
