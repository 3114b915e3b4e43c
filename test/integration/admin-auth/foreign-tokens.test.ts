import { EmailChange } from '../../../entities/email-change.js';
import { PasswordLink } from '../../../entities/password-link.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { emailChangeToken } from '../../../src/domain/email-changes/link.js';
import { passwordLinkToken } from '../../../src/domain/passwords/links.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { registrationToken } from '../../../src/domain/registration/link.js';
import { invite, newMember, newPerson, rolesByKey, sealing } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { Browser } from '../../support/oauth/browser.js';
import { password as identityPassword, redirectUri, type TestClient } from '../../support/oauth/environment.js';
import { tokensFor } from '../../support/oauth/tokens.js';
import { rowsOf } from '../../support/rows.js';

const password = 'violet tractor 19';
const names = { first_name: 'Ana', last_name: 'Brandt', account_name: 'Acme', application_name: 'Shop' };

let api: TestApi;
let account: TestAccount;
let owner: Call;
/** One valid token of each kind. */
let tokens: Record<Kind, string>;
type Kind =
  | 'registration link'
  | 'password link'
  | 'link to a new address'
  | 'invite'
  | 'selection token'
  | 'refresh cookie'
  | 'access token'
  | 'refresh token of an identity'
  | 'access token of an identity'
  | 'API key';
let another: string;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
  another = (await owner('POST', '/applications', { name: 'Other' })).json().data.id;
  const passwordHash = await createPasswords({ breachUrl: null }).hash(password);
  const waiting = await register();
  const [ana, chooser] = [await newPerson(api, { passwordHash }), await newPerson(api, { passwordHash })];
  await post('/password/forgot', { email: ana.email });
  const { viewer } = await rolesByKey(owner);
  await newMember(api, account, 'viewer', chooser);
  const signedIn = await post('/login', { email: (await newPerson(api, { passwordHash })).email, password });
  const identity = await signedInIdentity();
  tokens = {
    'registration link': registrationToken(sealing, await one(PendingRegistration, { email: waiting })).token,
    'password link': passwordLinkToken(sealing, await one(PasswordLink, { userId: ana.userId })).token,
    'link to a new address': await linkToNewAddress(passwordHash),
    invite: (await invite(owner, { role_id: viewer })).token,
    'selection token': (await post('/login', { email: chooser.email, password })).json().data.selection_token,
    'refresh cookie': signedIn.cookies.find(({ name }) => name === 'admin_refresh')?.value as string,
    'access token': signedIn.json().data.access_token,
    'refresh token of an identity': identity.refresh_token as string,
    'access token of an identity': identity.access_token,
    'API key': (await account.apiKey())['x-api-key'] as string,
  };
});
afterAll(() => api.stop());

const post = (path: string, payload?: object, headers: Record<string, string> = {}) =>
  api.app.inject({ method: 'POST', url: `/v1/auth${path}`, headers, ...(payload && { payload }) });
const open = (path: string, token: string) =>
  api.app.inject({
    url: `/v1/auth${path}?token=${encodeURIComponent(token)}`,
    headers: { accept: 'application/json' },
  });
const one = <T extends object>(entity: new () => T, where: object): Promise<T> =>
  api.database.db.transaction('system', (tx) => tx.findOneByOrFail(entity, where));
async function linkToNewAddress(passwordHash: string) {
  const { email, userId } = await newPerson(api, { passwordHash });
  const { access_token } = (await post('/login', { email, password })).json().data;
  await post('/email', { email: `moved-${email}` }, { authorization: `Bearer ${access_token}` });
  return emailChangeToken(sealing, await one(EmailChange, { userId })).token;
}
async function register() {
  const email = `new@${account.accountSlug}.example`;
  await post('/register', { ...names, email, password });
  return email;
}
async function signedInIdentity() {
  const email = `ida@${account.accountSlug}.example`;
  const headers = await account.apiKey();
  const payload = { email, password: identityPassword, email_verified: true };
  await api.app.inject({ method: 'POST', url: '/api/v1/identities', headers, payload });
  const wanted = { name: 'Web', client_type: 'public', redirect_uris: [redirectUri] };
  const path = `/applications/${account.applicationSlug}/environments/development/oauth-clients`;
  const { id, client_id: clientId } = (await owner('POST', path, wanted)).json().data;
  const client = { id, clientId, tokenEndpointAuthMethod: 'none' } as TestClient;
  return tokensFor(new Browser(api.app), client, email, { scope: 'openid offline_access' });
}

/** Each operation that accepts a token: the kind that it accepts, and its refusal of any other. */
const doors: Record<string, { of: Kind; refusal: string; tries: ((token: string) => ReturnType<typeof post>)[] }> = {
  'verify-email': {
    of: 'registration link',
    refusal: '400 registration.link_invalid',
    tries: [(token) => open('/verify-email', token), (token) => post('/verify-email', { token, password })],
  },
  'verify-email/decline': {
    of: 'registration link',
    refusal: '400 registration.link_invalid',
    tries: [(token) => post('/verify-email/decline', { token })],
  },
  'password/reset': {
    of: 'password link',
    refusal: '400 password.link_invalid',
    tries: [
      (token) => open('/password/reset', token),
      (token) => post('/password/reset', { token, password: 'another tractor 20' }),
    ],
  },
  'email/confirm': {
    of: 'link to a new address',
    refusal: '400 email_change.link_invalid',
    tries: [(token) => open('/email/confirm', token), (token) => post('/email/confirm', { token, password })],
  },
  'invite-info and accept-invite': {
    of: 'invite',
    refusal: '400 invite.link_invalid',
    tries: [
      (token) => post('/invite-info', { token }),
      (token) => open('/accept-invite', token),
      (token) => post('/accept-invite', { token, first_name: 'Ivo', last_name: 'Kern', password }),
    ],
  },
  'select-application': {
    of: 'selection token',
    refusal: '401',
    tries: [(selection_token) => post('/select-application', { selection_token, application_id: another })],
  },
  refresh: {
    of: 'refresh cookie',
    refusal: '401',
    tries: [(token) => post('/refresh', undefined, { cookie: `admin_refresh=${token}` })],
  },
};

const counted = async () =>
  (
    await rowsOf(
      api,
      `select (select count(*) from users) as users, (select count(*) from user_sessions) as sessions,
         (select count(*) from memberships) as memberships, (select count(*) from accounts) as accounts`,
    )
  )[0];

describe.each(Object.entries(doors))('%s', (_, { of, refusal, tries }) => {
  test('refuses every token that was issued for something else, and starts no session', async () => {
    const before = await counted();
    for (const [kind, token] of Object.entries(tokens)) {
      if (kind === of) continue;
      for (const attempt of tries) {
        const answer = await attempt(token);
        expect([kind, outcomeOf(answer)]).toEqual([kind, refusal]);
        expect(answer.cookies.filter(({ value }) => value !== '')).toEqual([]);
      }
    }
    expect(await counted()).toEqual(before);
  });
});

test('no attempt has used up a token', async () => {
  for (const { of, tries } of Object.values(doors)) {
    for (const attempt of tries) {
      const answer = await attempt(tokens[of]);
      // The confirmation of an address waits for a process, of which there is none here.
      const isConfirmation = of === 'registration link' && attempt !== tries[0];
      expect([of, answer.statusCode]).toEqual([of, isConfirmation ? 503 : 200]);
    }
  }
});

describe('a caller who is no administrator', () => {
  const signedInOnly = [
    { method: 'GET', url: '/v1/auth/me' },
    { method: 'GET', url: '/v1/auth/sessions' },
    { method: 'DELETE', url: '/v1/auth/sessions/01890000-0000-7000-8000-000000000000' },
    { method: 'PUT', url: '/v1/auth/password', payload: { current_password: 'x', new_password: password } },
    { method: 'POST', url: '/v1/auth/email', payload: { email: 'x@example.com' } },
    { method: 'GET', url: '/v1/auth/email' },
    { method: 'DELETE', url: '/v1/auth/email' },
    { method: 'POST', url: '/v1/auth/accounts', payload: { account_name: 'x', application_name: 'y' } },
    { method: 'GET', url: '/v1/auth/accounts/resume' },
    { method: 'POST', url: '/v1/auth/accounts/resume' },
    { method: 'DELETE', url: '/v1/auth/accounts/resume' },
  ] as const;
  const portal = () => ({ method: 'GET', url: `/portal/v1/accounts/${account.accountSlug}/me` }) as const;

  test('has the wrong type everywhere if it is an identity: 403 without a code', async () => {
    const headers = { authorization: `Bearer ${tokens['access token of an identity']}` };
    for (const call of [...signedInOnly, portal()]) {
      const answer = await api.app.inject({ ...call, headers });
      expect([call.url, answer.statusCode, answer.json().error.code]).toEqual([call.url, 403, null]);
    }
  });

  test('gets 401 everywhere with an API key, or with what is no access token', async () => {
    const { 'access token': _, 'access token of an identity': __, ...others } = tokens;
    const credentials = [
      { 'x-api-key': tokens['API key'] },
      ...Object.values(others).map((token) => ({ authorization: `Bearer ${token}` })),
    ];
    for (const call of [...signedInOnly, portal()]) {
      for (const headers of credentials) {
        const answer = await api.app.inject({ ...call, headers });
        expect([call.url, answer.statusCode]).toEqual([call.url, 401]);
      }
    }
  });
});
