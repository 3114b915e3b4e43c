import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { AdministratorRole, type AdministratorRoleKey } from '../../../entities/administrator-role.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { User } from '../../../entities/user.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { ok, refusalOf, withFactors } from '../../support/admin-mfa.js';
import { newOidcConnection, newVerifiedDomain } from '../../support/sso.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth({ rateLimits: true });
});
afterAll(() => auth.close());

const query = <T>(text: string, values: unknown[] = []) =>
  auth.db.transaction('system', (tx) => tx.query<T[]>(text, values));
const password = 'violet tractor 19';
type Account = Awaited<ReturnType<AdminAuth['addUser']>>['accounts'][number];

/** Creates an Account of somebody else with a provider for the administrators at its domain. */
async function newPlace() {
  const owner = await auth.addUser();
  const { account, applications } = owner.accounts[0] as Account;
  const domain = `${randomUUID()}.example`;
  const where = { accountId: account.id, environmentId: null as never };
  await newVerifiedDomain(auth, where, domain);
  const client = { issuer: 'https://idp.acme.example', clientId: 'client', clientSecret: 'a secret' };
  const connection = await newOidcConnection(auth, where, client, { scope: 'admin' });
  return { owner, account, applicationId: applications[0]?.id as string, domain, connection };
}
type Place = Awaited<ReturnType<typeof newPlace>>;

const require = ({ account }: Pick<Place, 'account'>, wanted = true) =>
  query('update accounts set require_sso = $2 where id = $1', [account.id, wanted]);

/** Creates a member with a password, who may have Accounts of their own. */
async function newMember({ account, domain }: Place, { accounts = [] as number[], at = domain, role = 'admin' } = {}) {
  const user = await auth.addUser({ password, accounts });
  const email = `${user.id}@${at}`;
  await auth.db.transaction('system', async (tx) => {
    await tx.update(User, { id: user.id }, { email });
    const membershipId = randomUUID();
    const systemKey = role as AdministratorRoleKey;
    const { id: roleId } = await tx.findOneByOrFail(AdministratorRole, { accountId: account.id, systemKey });
    await tx.insert(Membership, { id: membershipId, accountId: account.id, userId: user.id, createdAt: auth.now() });
    await tx.insert(MembershipRole, { membershipId, roleId, accountId: account.id });
  });
  return { ...user, email };
}
type Member = Awaited<ReturnType<typeof newMember>>;

let networks = 0;
/** Signs in from another network each time, since only the limit of the address matters here. */
const login = (email: string, more: object = {}, typed = password) => {
  const from = { 'x-forwarded-for': `2001:db8:${(++networks).toString(16)}::1` };
  return auth.post('/login', { email, password: typed, ...more }, from);
};
const me = async (token: string) => ok(await auth.get('/me', bearer(token)));
const sessionsOf = ({ id }: Member) => query('select from user_sessions where user_id = $1', [id]);
const wayFor = (email: string, more: object = {}) => ({
  outcome: 'sso_required',
  redirect_to: `${auth.baseUrl}/v1/auth/sso/start?${new URLSearchParams({ email, ...more })}`,
});

describe('the right password of a member whose account requires single sign-on', () => {
  test('leads to the provider, as a wrong password and an unknown address do, and starts no session', async () => {
    const place = await newPlace();
    const member = await newMember(place);
    await withFactors(auth).enrollTotp((await auth.sessionOf(member.id)).accessToken);
    await query('delete from user_sessions where user_id = $1', [member.id]);
    await require(place);
    const emails = [member.email.toUpperCase(), `nobody@${place.domain}`];
    const answers = [
      ...(await Promise.all(emails.map((email) => login(email)))),
      await login(member.email.toUpperCase(), {}, 'wrong horse'),
    ];
    for (const [i, answer] of answers.entries()) {
      expect([answer.json(), answer.cookies]).toEqual([{ data: wayFor(emails[i] ?? (emails[0] as string)) }, []]);
    }
    expect(await sessionsOf(member)).toEqual([]);
    const events = await query(
      `select outcome, account_id, metadata from events where resource_id = $1 and action = 'auth.admin_sign_in_failed' order by outcome`,
      [member.id],
    );
    const accountId = place.account.id;
    expect(events).toEqual([
      { outcome: 'denied', account_id: accountId, metadata: { method: 'password', reason: 'sso_required' } },
      { outcome: 'failure', account_id: accountId, metadata: {} },
    ]);
  });

  test('counts like a wrong one, so that the limit does not tell which it was either', async () => {
    const place = await newPlace();
    const member = await newMember(place);
    await require(place);
    const statuses = async (email: string, typed: string) => {
      const answers = [];
      for (let i = 0; i < 11; i++) answers.push((await login(email, {}, typed)).statusCode);
      return answers;
    };
    const tenth = [...Array(10).fill(200), 429];
    expect(await statuses(member.email, password)).toEqual(tenth);
    expect(await statuses((await newMember(place)).email, 'wrong horse')).toEqual(tenth);
    expect(await statuses(`nobody@${place.domain}`, password)).toEqual(tenth);
    await query(`delete from rate_limits where key like 'admin-sign-in-address:%'`);
    await query(`update rate_limits set points = 49 where key like 'admin-sign-in-day:%'`);
    expect((await login(member.email)).statusCode).toBe(200);
    expect(
      await query(`select from events where resource_id = $1 and action = 'auth.admin_locked'`, [member.id]),
    ).toHaveLength(1);
    await require(place, false);
    expect((await login(member.email)).statusCode).toBe(429);
  });

  test('signs in to their other accounts, and leads to the provider only for an application that requires it', async () => {
    const place = await newPlace();
    const member = await newMember(place, { accounts: [1] });
    const own = member.accounts[0] as Account;
    expect(ok(await login(member.email)).outcome).toBe('application_selection_required');
    await require(place);
    const { access_token: token, ...entered } = ok(await login(member.email));
    expect(entered).toMatchObject({ outcome: 'authenticated', account: { id: own.account.id } });
    expect((await me(token)).accounts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: place.account.id, require_sso: true, sso_required: true }),
        expect.objectContaining({ id: own.account.id, require_sso: false, sso_required: false }),
      ]),
    );
    const asking = { application_id: place.applicationId };
    expect(ok(await login(member.email, asking))).toEqual(wayFor(member.email, asking));
    const other = { application_id: own.applications[0]?.id };
    expect(ok(await login(member.email, other))).toMatchObject({ outcome: 'authenticated' });
  });

  test('offers no application of it to choose', async () => {
    const place = await newPlace();
    const member = await newMember(place, { accounts: [2] });
    await require(place);
    const { outcome, applications } = ok(await login(member.email));
    expect(outcome).toBe('application_selection_required');
    const own = member.accounts[0]?.applications.map(({ id }) => id).sort();
    expect(applications.map(({ id }: { id: string }) => id).sort()).toEqual(own);
  });

  test.each([
    ['no provider speaks for the address', async () => 'elsewhere.example'],
    ['another account’s provider speaks for it', async () => (await newPlace()).domain],
  ])('signs in without an account if %s', async (_name, domainOf) => {
    const place = await newPlace();
    const member = await newMember(place, { at: await domainOf() });
    await require(place);
    const { access_token: token, ...entered } = ok(await login(member.email));
    expect(entered).toMatchObject({ outcome: 'account_required', account: null, application: null });
    expect((await me(token)).accounts).toEqual([expect.objectContaining({ sso_required: true })]);
  });

  test.each(['disabled', 'auto_disabled'])('signs in without an account while its connection is %s', async (status) => {
    const place = await newPlace();
    const member = await newMember(place);
    await require(place);
    await query('update sso_connections set status = $2 where id = $1', [place.connection.id, status]);
    expect(ok(await login(member.email)).outcome).toBe('account_required');
  });

  test('does so also in place of a passkey, which the event names', async () => {
    const place = await newPlace();
    const member = await newMember(place);
    const person = withFactors(auth);
    const { accessToken } = await auth.sessionOf(member.id);
    const { authenticator } = await person.enrollKey(
      accessToken,
      person.newKey({ isSynced: true, verifiesUser: true }),
    );
    await query('delete from user_sessions where user_id = $1', [member.id]);
    await require(place);
    const answer = await person.signInByPasskey(authenticator);
    expect([answer.json(), answer.cookies]).toEqual([{ data: wayFor(member.email) }, []]);
    expect(await sessionsOf(member)).toEqual([]);
    expect(
      await query(`select metadata from events where resource_id = $1 and action = 'auth.admin_sign_in_failed'`, [
        member.id,
      ]),
    ).toEqual([{ metadata: { method: 'passkey', reason: 'sso_required' } }]);
  });

  test('lets Owners in', async () => {
    const place = await newPlace();
    const member = await newMember(place, { role: 'owner' });
    await require(place);
    const entered = ok(await login(member.email));
    expect(entered).toMatchObject({ outcome: 'authenticated', account: { id: place.account.id } });
  });
});

test('a sign-in through the account’s own provider enters it', async () => {
  const place = await newPlace();
  const member = await newMember(place, { accounts: [1] });
  await require(place);
  const by = { connectionId: place.connection.id, accountId: place.account.id, ssoSessionId: null };
  const proved = { userId: member.id, emailChangedAt: null, amr: ['pwd'], authTime: auth.now(), applicationId: null };
  const browser = { ipAddress: null, userAgent: null };
  const entered = await auth.users.signIn.signInByProvider({ ...proved, ...by, ...browser });
  expect(entered).toMatchObject({ outcome: 'authenticated', account: { id: place.account.id } });
  const token = 'accessToken' in entered ? entered.accessToken : '';
  expect((await me(token)).accounts).toContainEqual(
    expect.objectContaining({ require_sso: true, sso_required: false }),
  );
});

describe('an account that comes to require single sign-on', () => {
  test('between the password and the choice of an application is not chosen', async () => {
    const place = await newPlace();
    const member = await newMember(place, { accounts: [1] });
    const { selection_token } = ok(await login(member.email));
    await require(place);
    const choose = (application_id: unknown) => auth.post('/select-application', { selection_token, application_id });
    expect(refusalOf(await choose(place.applicationId))).toEqual([403, 'account.sso_required']);
    expect(refusalOf(await choose(randomUUID()))).toEqual([404, 'application.not_found']);
    ok(await choose(member.accounts[0]?.applications[0]?.id));
  });

  test('between the password and the second factor sends the person to the provider after it', async () => {
    const place = await newPlace();
    const member = await newMember(place);
    const { enrollTotp, challenge, answer } = withFactors(auth);
    const app = await enrollTotp((await auth.sessionOf(member.id)).accessToken);
    const before = (await sessionsOf(member)).length;
    const asking = { application_id: place.applicationId };
    const token = await challenge({ email: member.email, password }, asking);
    await require(place);
    const answered = await answer('totp', token, app.code());
    expect([ok(answered), answered.cookies]).toEqual([wayFor(member.email, asking), []]);
    expect((await sessionsOf(member)).length).toBe(before);
  });

  test('is not named by the next token of a session that began with the password, until it is open again', async () => {
    const place = await newPlace();
    const member = await newMember(place);
    const entered = await login(member.email);
    const cookieOf = ({ cookies }: typeof entered) => cookies.find(({ name }) => name.includes('refresh'));
    let latest = entered;
    const refresh = async () => {
      const cookie = cookieOf(latest);
      latest = await auth.post('/refresh', undefined, { cookie: `${cookie?.name}=${cookie?.value}` });
      const { access_token: token } = ok(latest);
      const { account_id, application_id } = decodeJwt(token);
      return [account_id, application_id, (await me(token)).account?.id];
    };
    const bound = [place.account.id, place.applicationId, place.account.id];
    expect(await refresh()).toEqual(bound);
    await require(place);
    expect(await refresh()).toEqual([undefined, undefined, undefined]);
    await require(place, false);
    expect(await refresh()).toEqual(bound);
  });
});
