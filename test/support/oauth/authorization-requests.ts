import type { Random } from '../random.js';
import { newPkce } from './sign-in.js';

/** The parameters of an authorization request, in order; a name may come twice. */
export type Sent = readonly (readonly [name: string, value: string])[];

export interface ModelClient {
  clientId: string;
  isPublic: boolean;
  isThirdParty: boolean;
  needsPkce: boolean;
  rotates: boolean;
  redirectUris: string[];
  scopes: string[];
}

/** A request that is to be answered. */
export interface Asked {
  sent: Sent;
  client: ModelClient;
  redirectUri: string;
  mode: string;
  state: string | null;
  nonce: string | null;
  scope: string[];
  challenge: string | null;
  prompts: string[];
  maxAge: number | null;
  level: 'any' | 'aal2' | 'aal2 or aal1';
  /** Whom the client expects. */
  hint: string | null;
  isForOrganization: boolean;
}

const scopes = ['openid', 'profile', 'email', 'org', 'permissions'];
const known = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'prompt',
  'max_age',
];
const alsoKnown = [
  'code_challenge',
  'code_challenge_method',
  'id_token_hint',
  'login_hint',
  'ui_locales',
  'acr_values',
];
const once = [...known, ...alsoKnown, 'organization', 'request', 'request_uri', 'registration', 'claims', 'display'];
const loopbackIp = /^(http:\/\/127\.0\.0\.1)(?::\d+)?(\/.*)$/;
const withoutPort = (uri: string) => uri.replace(loopbackIp, '$1$2');

/** Whether nothing shows which program of the device asks (docs/decisions/0063). */
export const anyProgram = ({ client, redirectUri }: Asked) => client.isPublic && !redirectUri.startsWith('https:');

interface Known {
  clients: readonly ModelClient[];
  organization: { id: string; slug: string; isOpen: boolean };
  idTokens: ReadonlyMap<string, string>;
}

/** Reads a request: what is malformed is a page, and only what OpenID Connect answers by a redirect is one (contract §10). */
export function readRequest(
  sent: Sent,
  { clients, organization, idTokens }: Known,
): { is: 'error page' } | { is: 'error'; asked: Asked; error: string } | { asked: Asked } {
  const page = { is: 'error page' } as const;
  const all = (name: string) => sent.filter(([other]) => other === name).map(([, value]) => value);
  const get = (name: string) => all(name)[0] ?? null;
  const words = (name: string) => (get(name) ?? '').split(' ').filter((word) => word !== '');
  if (once.some((name) => all(name).length > 1)) return page;
  const client = clients.find(({ clientId }) => clientId === get('client_id'));
  const redirectUri = get('redirect_uri');
  if (!client || redirectUri === null) return page;
  if (!client.redirectUris.some((uri) => uri === redirectUri || withoutPort(uri) === withoutPort(redirectUri)))
    return page;
  const mode = get('response_mode') ?? 'query';
  if (mode !== 'query' && !(mode === 'form_post' && redirectUri.startsWith('http'))) return page;

  const levels = words('acr_values').filter((word) => /^urn:gatehouse:aal[12]$/.test(word));
  const takesAal1 = levels.includes('urn:gatehouse:aal1');
  const [challenge, method, hint, maxAge] = ['code_challenge', 'code_challenge_method', 'id_token_hint', 'max_age'].map(
    get,
  );
  const prompts = words('prompt');
  const scope = scopes.filter((name) => words('scope').includes(name) && client.scopes.includes(name));
  const asked: Asked = {
    ...{ sent, client, redirectUri, mode, scope, prompts, state: get('state'), nonce: get('nonce') },
    challenge: challenge ?? null,
    maxAge: maxAge == null ? null : Number(maxAge),
    level: levels[0] !== 'urn:gatehouse:aal2' ? 'any' : takesAal1 ? 'aal2 or aal1' : 'aal2',
    hint: hint == null ? null : (idTokens.get(hint) ?? null),
    isForOrganization: get('organization') !== null,
  };
  const redirected = ['request', 'request_uri', 'registration'].find((name) => get(name) !== null);
  if (redirected) return { is: 'error', asked, error: `${redirected}_not_supported` };

  if (get('response_type') !== 'code') return page;
  if (challenge == null && (method != null || client.needsPkce)) return page;
  if (challenge != null && (method !== 'S256' || !/^[\w-]{43}$/.test(challenge))) return page;
  if (prompts.some((word) => !['none', 'login', 'consent', 'select_account'].includes(word))) return page;
  if (prompts.includes('none') && prompts.length > 1) return page;
  if (maxAge != null && !/^\d+$/.test(maxAge)) return page;
  if (client.isThirdParty && asked.isForOrganization && !scope.includes('org'))
    return { is: 'error', asked, error: 'invalid_scope' };
  if (hint != null && asked.hint === null) return page;
  const isThere = organization.isOpen && [organization.id, organization.slug].includes(get('organization') ?? '');
  return asked.isForOrganization && !isThere ? page : { asked };
}

const prompt = [
  'login',
  'consent',
  'select_account',
  'login consent',
  'select_account login',
  'consent select_account',
];
const sentPrompts = ['none', 'none', 'none', 'none', 'none', ...prompt, ...prompt, 'none login', 'create'];
const sentAges = ['0', '60', '600', '600', '3600', '3600', '7200', '7200', '-1', 'soon'];
const [aal1, aal2] = ['urn:gatehouse:aal1', 'urn:gatehouse:aal2'];
const sentLevels = [aal2, `${aal2} ${aal1}`, `${aal1} ${aal2}`, 'phr'];

type Values = readonly (string | null)[];
/** Draws the value that is usual, or now and then another one; null leaves the parameter out. */
const mostly = (random: Random, usual: string | null, others: Values, outOf = 12) =>
  random.below(outOf) === 0 ? random.of(others) : usual;

/** What a request may name. */
export interface Nameable extends Known {
  emails: string[];
  /** Tokens that are no ID tokens of this service. */
  noHints: string[];
}

/** Draws a request, mostly one that is answered; returns its verifier, too. */
export function drawRequest(random: Random, nameable: Nameable): { sent: Sent; verifier: string } {
  const { clients, organization, idTokens, emails, noHints } = nameable;
  const client = random.of(clients);
  const { verifier, challenge } = newPkce();
  const scope = random.of([
    scopes,
    ['openid'],
    ['openid', 'email'],
    ['email', 'org', 'openid', 'openid'],
    ['profile'],
    [],
  ]);
  const { id, slug } = organization;
  const elsewhere = clients.flatMap(({ redirectUris }) => redirectUris);
  const own = random.of(client.redirectUris);
  const port = own.replace(loopbackIp, `$1:${random.between(1024, 65_535)}$2`);
  const others = [...elsewhere, `${own}/`, `${own}&a=b`, own.toUpperCase(), 'https://evil.example', null];
  const redirectUri = mostly(random, port, others, 20);
  const hasChallenge = client.needsPkce || random.below(2) === 0;
  const isBad = random.below(25) === 0;
  const hints = [...idTokens.keys()].slice(-6);
  const sent: [string, string | null][] = [
    ['client_id', mostly(random, client.clientId, ['nobody', null], 40)],
    ['redirect_uri', redirectUri],
    ['response_type', mostly(random, 'code', ['token', 'code id_token', null], 40)],
    ['response_mode', mostly(random, null, ['query', 'form_post', 'form_post', 'fragment'], 5)],
    ['scope', scope.length > 0 ? [...scope, ...(random.below(5) > 0 ? [] : ['offline_access'])].join(' ') : null],
    ['state', random.of([null, 'ö & =/?', 'x'])],
    ['nonce', random.of([null, 'n-0S6_WzA2Mj'])],
    ['code_challenge', isBad ? random.of([null, 'short', challenge]) : hasChallenge ? challenge : null],
    ['code_challenge_method', isBad ? random.of([null, 'plain', 'S256']) : hasChallenge ? 'S256' : null],
    ['prompt', mostly(random, null, sentPrompts, 2)],
    ['max_age', mostly(random, null, sentAges, 4)],
    ['acr_values', mostly(random, null, sentLevels, 4)],
    ['login_hint', mostly(random, null, emails, 4)],
    ['id_token_hint', hints.length > 0 ? mostly(random, null, random.below(8) > 0 ? hints : noHints, 4) : null],
    ['organization', mostly(random, null, [id, slug, id, slug, id, slug, 'nobody'], 4)],
    ['ui_locales', random.of([null, null, 'de', 'xx'])],
    ['request', mostly(random, null, ['e30.e30.'], 60)],
    ['request_uri', mostly(random, null, ['https://app.example.com/request'], 60)],
    ['registration', mostly(random, null, ['{}'], 60)],
    ['unknown', random.of([null, 'a'])],
    ['unknown', random.of([null, 'b'])],
  ];
  const given = sent.filter((one): one is [string, string] => one[1] !== null);
  return { sent: random.below(40) === 0 ? [...given, random.of(given)] : given, verifier };
}
