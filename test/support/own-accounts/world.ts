import { seconds } from '../../../src/platform/clock.js';
import { hashSecret } from '../../../src/platform/crypto/one-time-secret.js';
import { sealing } from '../administrators.js';
import { outcomeOf } from '../answers.js';
import { baseUrl, newAccount, type TestAccount, type TestApi } from '../api.js';
import { createAuthenticator } from '../authenticator.js';
import { rowsAsOwner } from '../database.js';
import { type WaitingMail, waitingMails } from '../identity-mails.js';
import { type Calls, callsWith } from '../nodes.js';
import { Browser } from '../oauth/browser.js';
import { newPkce } from '../oauth/sign-in.js';
import { newPublicClient } from '../public-client.js';
import { createRandom, type Random } from '../random.js';
import { OwnAccounts } from './model.js';
import { type Seen, seenIn } from './seen.js';
import type { Key, Person, Request, Session, Visitor } from './state.js';

export interface World {
  api: TestApi;
  account: TestAccount;
  key: Calls;
  random: Random;
  model: OwnAccounts;
  clientId: string;
  organization: string;
  pkce: ReturnType<typeof newPkce>;
  /** Makes passwords, addresses and networks differ. */
  count: number;
  tell(line: string): void;
  now(): number;
  query<Row>(text: string, values?: unknown[]): Promise<Row[]>;
}

export const firstPassword = 'violet tractor 19';
const redirectUri = 'https://app.example.com/callback';

export async function newWorld(api: TestApi, seed: number): Promise<World> {
  const account = await newAccount(api);
  const key = callsWith(api, await account.apiKey());
  const { clientId } = await newPublicClient(api, account.scope);
  const organization = (await key('POST', '/organizations', { name: 'Group' })).json().data.id as string;
  const it: World = {
    ...{ api, account, key, clientId, organization, model: new OwnAccounts(), random: createRandom(seed) },
    ...{ pkce: newPkce(), count: 0, tell: () => {} },
    now: () => api.clock.now.getTime(),
    query: (text, values = []) => rowsAsOwner(api.database.ownerUrl, text, values),
  };
  const anywhere = () => `10.${(it.count >> 16) & 255}.${(it.count >> 8) & 255}.${it.count++ & 255}`;
  for (const name of [0, 1, 2])
    it.model.visitors.push({ name, browser: new Browser(api.app, anywhere), session: null, trusts: new Map() });
  for (const isVerified of [true, true, false]) await newPerson(it, isVerified);
  await changeSettings(it, {});
  return it;
}

export async function newPerson(it: World, isVerified: boolean): Promise<Person> {
  const { model, key, account } = it;
  const email = `p${++it.count}-${account.accountSlug}@example.com`;
  const payload = { email, email_verified: isVerified, password: firstPassword };
  const id = (await key('POST', '/identities', payload)).json().data.id as string;
  const rest = {
    isActive: true,
    isMember: true,
    isGone: false,
    factors: [],
    recoveryCodes: [],
    grace: null,
    keys: [],
    parked: null,
  };
  const person: Person = { id, email, isVerified, password: firstPassword, setAt: it.now(), ...rest };
  model.people.push(person);
  return person;
}

/** Sets what the model says of the Environment; a client and its Environment are cached for at most a second. */
export async function changeSettings({ api, account, model }: World, more: object): Promise<void> {
  const headers = await account.as('owner');
  const url = account.portalPath('/settings');
  const version = (await api.app.inject({ url, headers })).json().data.version;
  const payload = {
    ...{ mfa_policy: model.mfaPolicy, mfa_grace_period_days: model.graceDays, mfa_allowed_factors: model.allowed },
    ...{ mfa_trusted_device_days: model.trustedDays, email_otp_login_enabled: model.mailsCodes },
    ...{ allow_email_change: model.changesEmail, passkey_login_enabled: true, allow_self_signup: true, ...more },
  };
  const answer = await api.app.inject({
    method: 'PATCH',
    url,
    headers: { ...headers, 'if-match': String(version) },
    payload,
  });
  expect(outcomeOf(answer)).toBe('200');
  api.clock.advance(seconds(1));
}

/** An authorization request of the client; or, with a destination, one that leads to a page of the account. */
export function newRequest(
  { clientId, pkce }: World,
  { prompt = null, isStrong = false }: Partial<Pick<Request, 'prompt' | 'isStrong'>> = {},
): Request {
  const params = {
    ...{ client_id: clientId, redirect_uri: redirectUri, response_type: 'code', scope: 'openid', state: 'here' },
    ...{ code_challenge: pkce.challenge, code_challenge_method: 'S256' },
    ...(prompt && { prompt }),
    ...(isStrong && { acr_values: 'urn:gatehouse:aal2' }),
  };
  return { params, destination: null, prompt, maxAge: null, isStrong };
}

/** The request in the address of a redirect to the authorization endpoint. */
export function requestIn(to: URL): Request {
  const params = Object.fromEntries(to.searchParams);
  const { destination = null, prompt, max_age, acr_values } = params;
  return {
    params,
    destination,
    prompt: prompt === 'login' ? 'login' : null,
    maxAge: max_age === undefined ? null : Number(max_age),
    isStrong: acr_values === 'urn:gatehouse:aal2',
  };
}

/** Sends a form, or the same as a script. */
export async function send(
  it: World,
  of: Visitor,
  path: string,
  fields: Record<string, string>,
  json = isScript(it),
): Promise<Seen> {
  return seenIn(await of.browser.post(path, fields, json ? { accept: 'application/json' } : {}));
}
export async function open(it: World, of: Visitor, url: string, json = isScript(it)): Promise<Seen> {
  return seenIn(await of.browser.get(url, json ? { accept: 'application/json' } : {}));
}
/** Sends what the pages' script sends to the endpoints for keys. */
export const script = async (of: Visitor, path: string, payload: object): Promise<Seen> =>
  seenIn(await of.browser.postJson(path, payload));
export const isScript = ({ random }: World) => random.below(3) === 0;
export const isJson = ({ answer }: Seen) => String(answer.headers['content-type']).includes('json');

/** The session of a browser's cookie. */
export async function sessionIdOf(it: World, { browser }: Visitor): Promise<string> {
  const [row] = await it.query<{ id: string }>(
    `select id from sessions where browser_hash = $1 and environment_id = $2 and revoked_at is null
     order by expires_at desc limit 1`,
    [hashSecret(browser.cookies.get('hosted_session') ?? ''), it.account.scope.environmentId],
  );
  return row?.id ?? 'none';
}

/** Takes the mails that wait to be sent, as their readers would see them. */
export async function takeMails(it: World): Promise<WaitingMail[]> {
  const { environmentId } = it.account.scope;
  const mails = await waitingMails(
    { sealing, now: () => it.api.clock.now, baseUrl, db: it.api.database.db, query: it.query },
    environmentId,
  );
  await it.query('delete from emails where environment_id = $1', [environmentId]);
  return mails;
}

/** Expects exactly these mails, each as `template address`; returns the first. */
export async function expectMails(it: World, ...expected: string[]): Promise<WaitingMail | undefined> {
  const mails = await takeMails(it);
  expect(mails.map(({ template, to }) => `${template} ${to}`).sort()).toEqual(expected.sort());
  return mails[0];
}

export const digitsIn = (mail: WaitingMail | undefined) => String(mail?.values.code ?? '').replace(' ', '');
export function newKey({ random }: World): Key {
  const isSynced = random.below(2) === 0;
  return { authenticator: createAuthenticator({ origin: baseUrl, isDiscoverable: true, isSynced }), isSynced };
}
export const passwordOf = (it: World) => `quiet harbour window ${++it.count}`;
export const live = (it: World, of: Visitor): Session | null => it.model.liveSession(of, it.now());
