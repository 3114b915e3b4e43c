import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { AccountIntent } from '../../../entities/account-intent.js';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { Email } from '../../../entities/email.js';
import { Event } from '../../../entities/event.js';
import { PasswordLink } from '../../../entities/password-link.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { User } from '../../../entities/user.js';
import { administratorInviteToken } from '../../../src/domain/administrator-invites/link.js';
import { hours } from '../../../src/platform/clock.js';
import { hashSecret } from '../../../src/platform/crypto/one-time-secret.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { expectEqualTimes } from '../../support/equal-times.js';
import { newSamlProvider, type SamlProvider } from '../../support/saml/sign-in.js';
import { newOidcConnection, newVerifiedDomain } from '../../support/sso.js';

let auth: AdminAuth;
let idp: SamlProvider;
beforeAll(async () => {
  [auth, idp] = await Promise.all([newAdminAuth(), newSamlProvider()]);
});
afterAll(() => auth.close());

const system = <T>(work: Parameters<typeof auth.db.transaction<T>>[1]) => auth.db.transaction('system', work);
const password = 'violet tractor 19';

/** Creates an Account with a verified domain and a provider for its administrators. */
async function place(overrides: Partial<SsoConnection> = {}) {
  const owner = await auth.addUser();
  const accountId = owner.accounts[0]?.account.id as string;
  const domain = `${randomUUID()}.example`;
  const where = { accountId, environmentId: null as never };
  await newVerifiedDomain(auth, where, domain);
  const none = { issuer: '', clientId: '', clientSecret: '' };
  const connection = await newOidcConnection(auth, where, none, { ...idp.fields, scope: 'admin', ...overrides });
  return { accountId, domain, connection };
}

describe('a wrong password at a domain with a provider', () => {
  const login = (email: string, more: object = {}) => auth.post('/login', { email, password: 'wrong horse', ...more });
  /** Creates a User with an address at the domain. */
  async function userAt(domain: string, hasPassword = true) {
    const user = await auth.addUser({ password: hasPassword ? password : null });
    const email = `${user.id}@${domain}`;
    await system((tx) => tx.update(User, { id: user.id }, { email }));
    return { ...user, email };
  }

  test('is answered with the way to the provider, whether or not the address is known', async () => {
    const { domain } = await place();
    const [known, without] = [await userAt(domain), await userAt(domain, false)];
    const application_id = uuidv7();
    const emails = [known.email, without.email, `nobody@${domain}`, known.email.toUpperCase()];
    const answers = await Promise.all(emails.map((email) => login(email, { application_id })));
    for (const [i, answer] of answers.entries()) {
      const query = new URLSearchParams({ email: emails[i] as string, application_id });
      expect([answer.statusCode, answer.json(), answer.cookies]).toEqual([
        200,
        { data: { outcome: 'sso_required', redirect_to: `${auth.baseUrl}/v1/auth/sso/start?${query}` } },
        [],
      ]);
      expect(Object.keys(answer.headers).sort()).toEqual(Object.keys(answers[0]?.headers ?? {}).sort());
    }
    const onward = await auth.get(answers[2]?.json().data.redirect_to.replace(`${auth.baseUrl}/v1/auth`, ''), {
      accept: 'application/json',
    });
    expect(onward.json().redirect_to).toMatch(/^https:\/\/idp\.acme\.example\/sso\?/);
  });

  test('is an event all the same, and the right password signs in', async () => {
    const { domain } = await place();
    const known = await userAt(domain);
    await login(known.email);
    expect((await auth.post('/login', { email: known.email, password })).json().data.outcome).toBe('authenticated');
    const events = await system((tx) =>
      tx.findBy(Event, { resourceId: known.id, action: 'auth.admin_sign_in_failed' }),
    );
    expect(events.map(({ outcome }) => outcome)).toEqual(['failure']);
  });

  test('takes as long for an unknown address as for a known one', async () => {
    const { domain } = await place();
    const known = await userAt(domain);
    const refused = async (email: string) => {
      expect((await login(email)).json().data.outcome).toBe('sso_required');
    };
    let i = 0;
    await expectEqualTimes(
      () => refused(known.email),
      () => refused(`unknown-${i++}@${domain}`),
    );
  });

  test('is 401 if the connection is disabled, the domain has lapsed, or it is another domain', async () => {
    const off = await place({ status: 'disabled' });
    const lapsed = await place();
    await system((tx) => tx.update(SsoDomain, { domain: lapsed.domain }, { status: 'lapsed' }));
    const addresses = [
      `ana@${off.domain}`,
      `ana@${lapsed.domain}`,
      `ana@sub.${(await place()).domain}`,
      'ana@x.example',
    ];
    for (const address of addresses) expect((await login(address)).statusCode).toBe(401);
  });
});

describe('an administrator without a password', () => {
  /** Creates an administrator who accepted an invite without a password, as the Account's provider allows. */
  async function invited() {
    const at = await place();
    const email = `ivo@${at.domain}`;
    const id = uuidv7();
    const { token, keyId } = administratorInviteToken(auth.sealing, { id, linkNumber: 1 });
    await system(async (tx) => {
      const { id: roleId } = await tx.findOneByOrFail(AdministratorRole, {
        accountId: at.accountId,
        systemKey: 'developer',
      });
      const names = { firstName: 'Ivo', lastName: 'Kern', locale: 'en' as const };
      await tx.insert(AdministratorInvite, {
        id,
        accountId: at.accountId,
        email,
        ...names,
        roleId,
        limits: null,
        tokenHash: hashSecret(token),
        tokenKeyId: keyId,
        linkNumber: 1,
        status: 'pending' as const,
        membershipId: null,
        endedAt: null,
        invitedBy: null,
        endedReason: null,
        createdAt: auth.now(),
        expiresAt: new Date(auth.now().getTime() + hours(24)),
      });
    });
    expect((await auth.post('/invite-info', { token })).json().data.sso_available).toBe(true);
    // As a form sends the field that may stay empty.
    const accepted = await auth.post('/accept-invite', { token, first_name: 'Ivo', last_name: 'Kern', password: '' });
    expect(accepted.statusCode).toBe(200);
    const user = await system((tx) => tx.findOneByOrFail(User, { email }));
    expect(user.passwordHash).toBeNull();
    return { ...at, email, user };
  }
  type Invited = Awaited<ReturnType<typeof invited>>;

  /** Returns the headers of a browser that signed in by the provider. */
  async function byProvider({ user, accountId, connection }: Invited) {
    const signedIn = await auth.users.signIn.signInByProvider({
      userId: user.id,
      emailChangedAt: user.emailChangedAt,
      accountId,
      connectionId: connection.id,
      ssoSessionId: null,
      amr: ['pwd'],
      authTime: auth.now(),
      applicationId: null,
      ipAddress: null,
      userAgent: null,
    });
    if (!('accessToken' in signedIn)) throw new Error(`not signed in, but ${signedIn.outcome}`);
    return bearer(signedIn.accessToken);
  }

  const intentsOf = (userId: string) =>
    system((tx) => tx.find(AccountIntent, { where: { userId }, order: { id: 'asc' } }));
  const templatesOf = async ({ id: subjectId }: AccountIntent) =>
    (await system((tx) => tx.findBy(Email, { subjectId }))).map(({ template }) => template);
  /** Mails as the process of a parked intent does. */
  const mailed = (intent: AccountIntent) => auth.accountIntents.announce(intent.id);

  /** Sets the password by the mailed link, signs in with it, and resumes the intent. */
  async function resume({ user, email, accountId }: Invited) {
    const token = await auth.passwordTokenFor(user.id);
    const own = 'their own violet tractor';
    expect((await auth.post('/password/reset', { token, password: own })).statusCode).toBe(200);
    const login = await auth.post('/login', { email, password: own });
    expect(login.json().data).toMatchObject({ outcome: 'authenticated', account: { id: accountId } });
    return auth.post('/accounts/resume', undefined, bearer(login.json().data.access_token));
  }

  test('cannot create an own account, gets a mail with a link to set a password, and then can', async () => {
    const ivo = await invited();
    const names = { account_name: 'Own', application_name: 'Shop' };
    const refused = await auth.post('/accounts', names, await byProvider(ivo));
    expect([refused.statusCode, refused.json().error.code, refused.cookies]).toEqual([
      403,
      'account.password_required',
      [],
    ]);
    const [intent] = (await intentsOf(ivo.user.id)) as [AccountIntent];
    expect(intent).toMatchObject({ status: 'parked', accountName: 'Own' });
    expect(await mailed(intent)).toBe('parked');
    expect(await templatesOf(intent)).toEqual(['set-password']);
    const links = await system((tx) => tx.findBy(PasswordLink, { userId: ivo.user.id }));
    expect(links).toMatchObject([{ purpose: 'set', id: intent.id }]);
    const resumed = await resume(ivo);
    expect([resumed.statusCode, resumed.json().data.account.name]).toEqual([201, 'Own']);
    // The provider still lets them in to its own Account, besides the password.
    const me = await auth.get('/me', await byProvider(ivo));
    expect(me.json().data.account.id).toBe(ivo.accountId);
  });

  test('gets that mail too when their address is registered, which is answered as usual', async () => {
    const ivo = await invited();
    const body = { password, first_name: 'A', last_name: 'B', account_name: 'Wish', application_name: 'Shop' };
    const [theirs, unknown] = [
      await auth.post('/register', { ...body, email: ivo.email }),
      await auth.post('/register', { ...body, email: `new@${ivo.domain}` }),
    ];
    expect([theirs.statusCode, theirs.body]).toEqual([201, unknown.body]);
    expect(await system((tx) => tx.findOneBy(PendingRegistration, { email: ivo.email }))).toBeNull();
    const [intent] = (await intentsOf(ivo.user.id)) as [AccountIntent];
    expect(await mailed(intent)).toBe('parked');
    expect(await templatesOf(intent)).toEqual(['set-password']);
    // The password of the registration works for nobody.
    expect((await auth.post('/login', { email: ivo.email, password })).json().data.outcome).toBe('sso_required');
    const resumed = await resume(ivo);
    expect([resumed.statusCode, resumed.json().data.account.name]).toEqual([201, 'Wish']);
  });
});
