import { decodeJwt } from 'jose';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { hours } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieHeader, newAdminAuth } from '../../support/admin-auth.js';
import { ok, refusalOf, withFactors } from '../../support/admin-mfa.js';

let auth: AdminAuth;
let person: ReturnType<typeof withFactors>;
beforeAll(async () => {
  auth = await newAdminAuth();
  person = withFactors(auth);
});
afterAll(() => auth.close());

type Person = Awaited<ReturnType<AdminAuth['addUser']>>;

/** Signs in by a provider of the user's first Account, which authenticated them hours ago. */
async function byProvider({ id: userId, accounts }: Person) {
  const [{ account }] = accounts as [Person['accounts'][number]];
  const at = auth.now();
  const connection = { id: crypto.randomUUID(), accountId: account.id, scope: 'admin', type: 'saml' } as const;
  const more = { name: 'Acme', status: 'active', ownedByOrganization: false, oidcScopes: [] } as const;
  await auth.db.transaction('system', (tx) =>
    tx.insert(SsoConnection, { ...connection, ...more, oidcScopes: [], createdAt: at, updatedAt: at }),
  );
  const authTime = new Date(Math.floor((at.getTime() - hours(3)) / 1000) * 1000);
  const arrived = await auth.users.signIn.signInByProvider({
    userId,
    emailChangedAt: null,
    accountId: account.id,
    connectionId: connection.id,
    ssoSessionId: null,
    amr: ['pwd'],
    authTime,
    applicationId: null,
    ipAddress: null,
    userAgent: null,
  });
  return { arrived, authTime: authTime.getTime() / 1000 };
}

const timeIn = (token: string) => decodeJwt(token).auth_time;
const beginApp = (token: string) => auth.post('/mfa/totp/enroll', undefined, bearer(token));
const refused = [403, 'auth.reauthentication_required'];

test('a second factor does not make hours-old authentication recent', async () => {
  const ana = await auth.addUser();
  const app = await person.enrollTotp(await person.session(ana));
  const { arrived, authTime } = await byProvider(ana);
  if (arrived.outcome !== 'mfa_required') throw new Error(`not asked, but ${arrived.outcome}`);
  const { access_token } = ok(await person.answer('totp', arrived.challengeToken, app.code()));
  expect(timeIn(access_token)).toBe(authTime);
  expect(refusalOf(await beginApp(access_token))).toEqual(refused);
});

test('choosing an application keeps the time of the authentication at the provider', async () => {
  const ana = await auth.addUser({ accounts: [2] });
  const { arrived, authTime } = await byProvider(ana);
  if (arrived.outcome !== 'application_selection_required') throw new Error(`no choice, but ${arrived.outcome}`);
  const choice = { selection_token: arrived.selectionToken, application_id: arrived.applications[0]?.id };
  const { access_token } = ok(await auth.post('/select-application', choice));
  expect(timeIn(access_token)).toBe(authTime);
  expect(refusalOf(await beginApp(access_token))).toEqual(refused);
});

test('creating an account and a refresh keep the time of the authentication at the provider', async () => {
  const ana = await auth.addUser();
  const { arrived, authTime } = await byProvider(ana);
  if (!('accessToken' in arrived)) throw new Error(`not signed in, but ${arrived.outcome}`);
  expect(timeIn(arrived.accessToken)).toBe(authTime);

  const names = { account_name: 'Own', application_name: 'Shop' };
  const created = await auth.post('/accounts', names, bearer(arrived.accessToken));
  expect(timeIn(ok(created, 201).access_token)).toBe(authTime);
  expect(refusalOf(await beginApp(ok(created, 201).access_token))).toEqual(refused);

  const cookie = cookieHeader(created);
  const refreshed = ok(await auth.post('/refresh', undefined, cookie));
  expect(timeIn(refreshed.access_token)).toBe(authTime);
  expect(refusalOf(await beginApp(refreshed.access_token))).toEqual(refused);
});
