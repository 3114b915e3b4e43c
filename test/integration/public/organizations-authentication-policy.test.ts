import { v7 as uuidv7 } from 'uuid';
import type { ErrorDetail } from '../../../src/domain/errors.js';
import { outcomeOf, outcomesOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newOrganization } from '../../support/api-organizations.js';
import { type Calls, callsWith, newIdentity, newNode } from '../../support/nodes.js';
import { databaseTime, eventsSince } from '../../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
let acme: string;
let path: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  acme = (await newOrganization(key, 'Acme')).id;
  path = `/organizations/${acme}/authentication-policy`;
});
afterAll(() => api.stop());

const open = { allowed_methods: null, require_mfa: false, require_sso: false, session_ttl_seconds: null };
const strict = {
  allowed_methods: ['passkey', 'sso'],
  require_mfa: true,
  require_sso: false,
  session_ttl_seconds: 3_600,
};
const oidc = {
  type: 'oidc',
  name: 'Acme Okta',
  oidc_discovery_url: 'https://acme.okta.example',
  oidc_client_id: 'gatehouse',
  oidc_client_secret: 'very secret',
};
const owner = async () => callsWith(api, await account.as('owner'), account.portalPath(''));
const sharedConnection = async (): Promise<string> =>
  (await (await owner())('POST', '/sso-connections', oidc)).json().data.connection.id;
const setting = async (changes: object) => {
  const { environmentSettings } = api.services;
  const { version } = await environmentSettings.get(account.scope);
  await environmentSettings.update(account.scope, version, changes);
};

test('a policy requires nothing at first, and is replaced as a whole under its own version', async () => {
  const since = await databaseTime(api);
  const first = await key('GET', path);
  expect([first.headers.etag, first.json()]).toEqual(['"1"', { data: { ...open, version: 1 } }]);
  const replaced = await key('PUT', path, strict, 1);
  expect([replaced.headers.etag, replaced.json()]).toEqual(['"2"', { data: { ...strict, version: 2 } }]);
  expect((await key('GET', path)).json().data).toEqual({ ...strict, version: 2 });
  const same = await key('PUT', path, { ...strict, allowed_methods: ['sso', 'passkey'] }, 2);
  expect(same.json().data).toEqual({ ...strict, version: 2 });
  expect((await key('GET', `/organizations/${acme}`)).headers.etag).toBe('"1"');
  const events = await eventsSince(api, account.scope.accountId, since);
  expect(events.map(({ action, metadata }) => ({ action, ...metadata }))).toEqual([
    { action: 'organization.updated', changed: ['authentication_policy'], authentication_policy: strict },
  ]);
});

test('a policy can be sent back as it was read, also if the environment allows less since', async () => {
  await setting({ sessionTtlSeconds: 36_000 });
  const kept = { ...open, session_ttl_seconds: 36_000 };
  expect(outcomeOf(await key('PUT', path, kept, 1))).toBe('200');
  await setting({ sessionTtlSeconds: 3_600 });
  expect((await key('PUT', path, kept, 2)).json().data).toEqual({ ...kept, version: 2 });
  const other = await key('PUT', path, { ...kept, session_ttl_seconds: 35_000 }, 2);
  expect(outcomeOf(other)).toBe('400 validation.failed');
  const methods = await key('PUT', path, { ...kept, allowed_methods: ['password'] }, 2);
  expect([outcomeOf(methods), methods.json().data]).toEqual([
    '200',
    { ...kept, allowed_methods: ['password'], version: 3 },
  ]);
});

test('a policy is replaced by one of many who read the same version; the others get the current one', async () => {
  expect(outcomeOf(await key('PUT', path, strict))).toBe('400 if_match.required');
  expect(outcomeOf(await key('PUT', path, strict, 'x'))).toBe('400 if_match.invalid');
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) => key('PUT', path, { ...open, session_ttl_seconds: 300 + i }, 1)),
  );
  expect(outcomesOf(answers)).toEqual({ 200: 1, '409 version.conflict': 5 });
  const won = answers.find(({ statusCode }) => statusCode === 200)?.json().data;
  for (const lost of answers.filter(({ statusCode }) => statusCode === 409)) expect(lost.json().data).toEqual(won);
});

test.each([
  [{ allowed_methods: [] }, 'allowed_methods'],
  [{ allowed_methods: ['password', 'password'] }, 'allowed_methods'],
  [{ allowed_methods: ['magic'] }, 'allowed_methods[0]'],
  [{ allowed_methods: ['email_otp'] }, 'allowed_methods'], // disabled in this environment
  [{ allowed_methods: ['password'], require_sso: true }, 'require_sso'],
  [{ require_mfa: null }, 'require_mfa'],
  [{ session_ttl_seconds: 299 }, 'session_ttl_seconds'],
  [{ session_ttl_seconds: 43_201 }, 'session_ttl_seconds'],
  [{ version: 1 }, 'version'],
])('a policy with %j is refused', async (wrong, field) => {
  const answer = await key('PUT', path, { ...open, ...wrong }, 1);
  expect(outcomeOf(answer)).toBe('400 validation.failed');
  expect(answer.json().error.details[0].field).toBe(field);
});

test.each([
  ['require_sso', { ...open, require_sso: true }],
  ['sso alone', { ...open, allowed_methods: ['sso'] }],
])('a policy may allow only a provider (%s) if one is active, and stays valid without it', async (_, only) => {
  const connection = `/organizations/${acme}/sso-connection`;
  const refusedFor = async () => {
    const answer = await key('PUT', path, only, 1);
    return [outcomeOf(answer), ...answer.json().error.details.map(({ field, code }: ErrorDetail) => [field, code])];
  };
  const refusal = ['400 validation.failed', ['require_sso', 'no_connection']];
  expect(await refusedFor()).toEqual(refusal);
  // The Environment's connection serves only organizations without their own.
  const shared = await sharedConnection();
  expect(outcomeOf(await (await owner())('POST', `/sso-connections/${shared}/activate`))).toBe('200');
  expect(outcomeOf(await key('POST', connection, oidc))).toBe('201');
  expect(await refusedFor()).toEqual(refusal);
  expect(outcomeOf(await key('POST', `${connection}/activate`))).toBe('200');
  expect(outcomeOf(await key('PUT', path, only, 1))).toBe('200');
  expect(outcomeOf(await key('POST', `${connection}/disable`))).toBe('200');
  expect(outcomeOf(await key('PUT', path, { ...only, session_ttl_seconds: 300 }, 2))).toBe('200');
});

test("a policy uses the environment's connection if the organization has none", async () => {
  const shared = await sharedConnection();
  const only = { ...open, require_sso: true };
  expect(outcomeOf(await key('PUT', path, only, 1))).toBe('400 validation.failed');
  expect(outcomeOf(await (await owner())('POST', `/sso-connections/${shared}/activate`))).toBe('200');
  expect(outcomeOf(await key('PUT', path, only, 1))).toBe('200');
});

test('a policy is sent as a whole: a body that omits a field is refused', async () => {
  expect(outcomeOf(await key('PUT', path, { require_mfa: true }, 1))).toBe('400 validation.failed');
});

test("a policy has at most the environment's session lifetime, and requires factors that it allows", async () => {
  await setting({ sessionTtlSeconds: 86_400 });
  expect(outcomeOf(await key('PUT', path, { ...open, session_ttl_seconds: 86_400 }, 1))).toBe('200');
  await setting({ mfaAllowedFactors: ['email_otp', 'recovery_code'] });
  const refused = await key('PUT', path, { ...open, require_mfa: true }, 2);
  expect(refused.json().error.details).toEqual([expect.objectContaining({ field: 'require_mfa', code: 'no_factor' })]);
});

test('a policy that requires MFA makes the environment keep a factor that everyone can enroll', async () => {
  expect(outcomeOf(await key('PUT', path, { ...open, require_mfa: true }, 1))).toBe('200');
  const inVain = { mfaAllowedFactors: ['email_otp', 'recovery_code'] };
  await expect(setting(inVain)).rejects.toMatchObject({
    options: { details: [{ field: 'mfa_allowed_factors', code: 'too_few' }] },
  });
  await setting({ mfaAllowedFactors: ['totp'] });
  expect(outcomeOf(await key('PUT', path, open, 2))).toBe('200');
  await setting(inVain);
});

test('a policy belongs to an organization of this environment', async () => {
  const foreign = await newOrganization(callsWith(api, await (await newAccount(api)).apiKey()), 'Foreign');
  const unit = await newNode(key, 'Unit', null);
  for (const id of [foreign.id, unit.id, uuidv7()]) {
    const other = `/organizations/${id}/authentication-policy`;
    expect(outcomeOf(await key('GET', other))).toBe('404 organization.not_found');
    expect(outcomeOf(await key('PUT', other, strict, 1))).toBe('404 organization.not_found');
    expect(outcomeOf(await key('PUT', other, {}))).toBe('404 organization.not_found');
  }
});

test('a policy requires the permission to manage the organization', async () => {
  const both = async (call: Calls) => [
    outcomeOf(await call('GET', path)),
    outcomeOf(await call('PUT', path, strict, 7)),
  ];
  const scoped = async (...scopes: string[]) => both(callsWith(api, await account.apiKey(scopes)));
  const may = ['200', '409 version.conflict'];
  expect(await scoped('hierarchy.view')).toEqual(Array(2).fill('403 api_key.scope_required'));
  const viewer = callsWith(api, await account.apiKey(['hierarchy.view']));
  expect((await viewer('GET', path)).json().error.details).toEqual([
    { field: '', code: 'lacking', message: 'needs hierarchy.manage or svc:organization.manage' },
  ]);
  expect(await scoped('hierarchy.manage')).toEqual(may);
  expect(await scoped('svc:organization.manage')).toEqual(may);
  const as = async (role: string, nodeId: string) =>
    both(callsWith(api, (await newIdentity(api, account, [[role, nodeId]])).headers));
  const other = (await newOrganization(key, 'Other')).id;
  expect(await as('organization_manager', acme)).toEqual(may);
  expect(await as('organization_manager', other)).toEqual(Array(2).fill('403 permission.required'));
  const portal = async (role: 'developer' | 'viewer') =>
    both(callsWith(api, await account.as(role), account.portalPath('')));
  expect(await portal('developer')).toEqual(may);
  expect(await portal('viewer')).toEqual(['200', '403 account.capability_required']);
  expect(await both(callsWith(api, {}))).toEqual(['401', '401']);
});
