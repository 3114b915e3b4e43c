import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newOrganization } from '../support/api-organizations.js';
import { type Calls, callsWith } from '../support/nodes.js';

let api: TestApi;
let account: TestAccount;
let call: Calls;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  call = callsWith(api, await account.as('owner'), account.portalPath(''));
});
afterAll(() => api.stop());

const oidc = {
  type: 'oidc',
  name: 'Acme Okta',
  oidc_discovery_url: 'https://acme.okta.example',
  oidc_client_id: 'gatehouse',
  oidc_client_secret: 'very secret',
};
const change = async (changes: object) => {
  const { version } = (await call('GET', '/settings')).json().data;
  const answer = await call('PATCH', '/settings', changes, version);
  const details: { field: string; code: string }[] = answer.json().error?.details ?? [];
  return [outcomeOf(answer), ...details.map(({ field, code }) => `${field} ${code}`)];
};
const policyOf = (id: string) => `/organizations/${id}/authentication-policy`;
const open = { allowed_methods: null, require_mfa: false, require_sso: false, session_ttl_seconds: null };

test('passkeys alone, or nothing, can be left only if a provider lets new people in', async () => {
  const passkeys = { password_login_enabled: false };
  const refused = ['400 validation.failed', 'password_login_enabled no_way_in'];
  expect(await change(passkeys)).toEqual(refused);
  expect(await change({ ...passkeys, passkey_login_enabled: false })).toEqual(refused);
  const connection = (await call('POST', '/sso-connections', oidc)).json().data.connection.id;
  expect(await change(passkeys)).toEqual(refused);
  expect(outcomeOf(await call('POST', `/sso-connections/${connection}/activate`))).toBe('200');
  expect(await change(passkeys)).toEqual(['200']);
  expect(await change({ passkey_login_enabled: false })).toEqual(['200']);
  // The present state does not prevent other changes.
  expect(outcomeOf(await call('POST', `/sso-connections/${connection}/disable`))).toBe('200');
  expect(await change({ default_locale: 'de' })).toEqual(['200']);
});

test('emailed codes are enough as a sign-in method', async () => {
  expect(await change({ password_login_enabled: false, email_otp_login_enabled: true })).toEqual(['200']);
  expect(await change({ passkey_login_enabled: false })).toEqual(['200']);
  expect(await change({ email_otp_login_enabled: false })).toEqual([
    '400 validation.failed',
    'email_otp_login_enabled no_way_in',
  ]);
});

test('no organization is left without a method that it allows, and another Environment’s do not matter', async () => {
  const production = callsWith(api, await account.as('owner'), account.portalPath('', 'production'));
  const { id: other } = await newOrganization(production, 'Other');
  const alone = { ...open, allowed_methods: ['password'] };
  expect(outcomeOf(await production('PUT', policyOf(other), alone, 1))).toBe('200');
  const { id } = await newOrganization(call, 'Acme');
  expect(outcomeOf(await call('PUT', policyOf(id), alone, 1))).toBe('200');
  const codes = { email_otp_login_enabled: true, password_login_enabled: false };
  expect(await change(codes)).toEqual(['400 validation.failed', 'password_login_enabled only_way_of_organization']);
  for (const [version, allowed_methods] of [
    [2, ['password', 'email_otp']],
    [3, ['password', 'sso']],
    [4, null],
  ] as const) {
    expect(await change({ email_otp_login_enabled: true })).toEqual(['200']);
    expect(outcomeOf(await call('PUT', policyOf(id), { ...open, allowed_methods }, version))).toBe('200');
    expect(await change(codes)).toEqual(['200']);
    expect(await change({ password_login_enabled: true })).toEqual(['200']);
  }
});

test('a change that disables several methods is told each that is missed, and by whom', async () => {
  expect(await change({ email_otp_login_enabled: true })).toEqual(['200']);
  const { id } = await newOrganization(call, 'Acme');
  const alone = { ...open, allowed_methods: ['email_otp'] };
  expect(outcomeOf(await call('PUT', policyOf(id), alone, 1))).toBe('200');
  expect(await change({ password_login_enabled: false, email_otp_login_enabled: false })).toEqual([
    '400 validation.failed',
    'password_login_enabled no_way_in',
    'email_otp_login_enabled no_way_in',
    'email_otp_login_enabled only_way_of_organization',
  ]);
});

test('a policy that the Environment has narrowed since can be sent back with another field changed', async () => {
  const { id } = await newOrganization(call, 'Acme');
  const narrow = { ...open, session_ttl_seconds: 3_600 };
  expect(outcomeOf(await call('PUT', policyOf(id), narrow, 1))).toBe('200');
  expect(await change({ session_ttl_seconds: 1_800 })).toEqual(['200']);
  expect(outcomeOf(await call('PUT', policyOf(id), { ...narrow, require_mfa: true }, 2))).toBe('200');
  const longer = { ...narrow, session_ttl_seconds: 3_599 };
  expect(outcomeOf(await call('PUT', policyOf(id), longer, 3))).toBe('400 validation.failed');
});
