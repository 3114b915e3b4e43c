import type { SsoConnection } from '../../../entities/sso-connection.js';
import { User } from '../../../entities/user.js';
import { ok, refusalOf } from '../../support/admin-mfa.js';
import { invite, newMember, rolesByKey, type TestMember } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { comeBy, newAdminConnection, newRequiringAccount, newSsoAccount } from '../../support/required-sso.js';
import { rowsOf } from '../../support/rows.js';
import { comingUpon } from '../../support/uncommitted.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const closed = [403, 'account.sso_required'];
const require = (member: TestMember, require_sso = true) => member.call('PATCH', '', { require_sso });
const me = async ({ headers }: TestMember) => ok(await api.app.inject({ url: '/v1/auth/me', headers }));
const settingOf = async ({ scope }: TestAccount) =>
  (await rowsOf(api, 'select require_sso from accounts where id = $1', [scope.accountId]))[0]?.require_sso;

/** Creates a member who manages the Account and its connections but is no Owner. */
async function newKeeper(account: TestAccount, owner: TestMember): Promise<TestMember> {
  const capabilities = ['account.view', 'account.manage', 'sso.view', 'sso.manage'];
  const role = ok(await owner.call('POST', '/administrator-roles', { name: 'Keeper', capabilities }), 201);
  return newMember(api, account, { roleId: role.id });
}

describe('an account that requires single sign-on', () => {
  test('is made one by an Owner whose session came through its connection, and by nobody else', async () => {
    const { account, connection, owner } = await newSsoAccount(api);
    const keeper = await newKeeper(account, owner);
    await comeBy(api, keeper, connection);
    expect(ok(await owner.call('GET', '')).require_sso).toBe(false);
    expect(refusalOf(await require(keeper))).toEqual([403, 'account.owner_required']);
    expect(refusalOf(await require(owner))).toEqual(closed);
    await comeBy(api, owner, connection);
    expect(ok(await require(owner)).require_sso).toBe(true);
    ok(await require(owner)); // the second time changes nothing
    expect(refusalOf(await require(keeper, false))).toEqual([403, 'account.owner_required']);
    ok(await keeper.call('PATCH', '', { name: 'Another name', require_sso: true }));
    const events = await rowsOf(
      api,
      `select metadata, actor_id from events where account_id = $1 and action = 'account.updated' order by id`,
      [account.scope.accountId],
    );
    expect(events).toEqual([
      { metadata: { changed: ['require_sso'] }, actor_id: owner.userId },
      { metadata: { changed: ['name'] }, actor_id: keeper.userId },
    ]);
    await comeBy(api, owner, null);
    expect(ok(await require(owner, false)).require_sso).toBe(false);
  });

  test('is not made one without an active connection of its own', async () => {
    const account = await newAccount(api);
    const owner = await newMember(api, account, 'owner');
    const unavailable = [409, 'account.sso_unavailable'];
    expect(refusalOf(await require(owner))).toEqual(unavailable);
    for (const status of ['configuring', 'disabled', 'auto_disabled'] as const) {
      await comeBy(api, owner, await newAdminConnection(api, account, { status }));
      expect(refusalOf(await require(owner))).toEqual(unavailable);
    }
    const { connection } = await newSsoAccount(api);
    await comeBy(api, owner, { ...connection, accountId: account.scope.accountId });
    expect(refusalOf(await require(owner))).toEqual(unavailable);
    ok(await require(owner, false)); // changes nothing
  });

  test('is not made one through a connection of end users, nor by a connection that ends meanwhile', async () => {
    const { account, connection, owner } = await newSsoAccount(api);
    const { environmentId } = account.scope;
    await comeBy(api, owner, await newAdminConnection(api, account, { scope: 'identity', environmentId }));
    expect(refusalOf(await require(owner))).toEqual(closed);
    await comeBy(api, owner, connection);
    const answer = await comingUpon(
      api.database,
      (tx) => tx.query(`update sso_connections set status = 'disabled' where id = $1`, [connection.id]),
      () => require(owner),
    );
    expect(refusalOf(answer)).toEqual([409, 'account.sso_unavailable']);
    expect(await settingOf(account)).toBe(false);
  });

  test.each([true, false])('stays %s if an Owner decides so while somebody else asks for the other', async (wanted) => {
    const { account, owner } = await newRequiringAccount(api);
    const keeper = await newKeeper(account, owner);
    const [connection] = await rowsOf(api, 'select * from sso_connections where account_id = $1', [
      account.scope.accountId,
    ]);
    await comeBy(api, keeper, { id: connection?.id as string, accountId: account.scope.accountId });
    if (wanted) ok(await require(owner, false));
    const answer = await comingUpon(
      api.database,
      (tx) => tx.query('update accounts set require_sso = $2 where id = $1', [account.scope.accountId, wanted]),
      () => keeper.call('PATCH', '', { name: 'Another name', require_sso: !wanted }),
    );
    expect(refusalOf(answer)).toEqual([403, 'account.owner_required']);
    expect(await settingOf(account)).toBe(wanted);
  });

  test('refuses everything to sessions that began elsewhere, before anything else is checked', async () => {
    const { account, connection } = await newRequiringAccount(api);
    const mia = await newMember(api, account, 'admin');
    expect(refusalOf(await mia.call('GET', '/me'))).toEqual(closed);
    expect(refusalOf(await mia.call('GET', '/applications/nowhere'))).toEqual(closed);
    expect(refusalOf(await mia.call('POST', '/applications', { nonsense: true }))).toEqual(closed);
    const rows = await rowsOf(
      api,
      `select outcome, actor_id from events where account_id = $1 and action = 'auth.access_denied'`,
      [account.scope.accountId],
    );
    expect(rows).toEqual([1, 2, 3].map(() => ({ outcome: 'denied', actor_id: mia.userId })));
    const about = { id: account.scope.accountId, require_sso: true };
    expect((await me(mia)).accounts).toEqual([expect.objectContaining({ ...about, sso_required: true })]);
    await comeBy(api, mia, connection);
    ok(await mia.call('GET', '/me'));
    expect((await me(mia)).accounts).toEqual([expect.objectContaining({ ...about, sso_required: false })]);
    // Sessions continue while a connection has switched itself off; whoever disables it ends them.
    await rowsOf(api, `update sso_connections set status = 'auto_disabled' where id = $1`, [connection.id]);
    ok(await mia.call('GET', '/me'));
  });

  test('lets Owners in, for as long as they are Owners of the whole account', async () => {
    const { account, owner } = await newRequiringAccount(api);
    const second = await newMember(api, account, 'owner');
    ok(await second.call('GET', '/me'));
    expect((await me(second)).accounts).toEqual([expect.objectContaining({ require_sso: true, sso_required: false })]);
    const ofPart = await newMember(api, account, 'owner', undefined, {
      application_ids: [account.scope.applicationId],
    });
    expect(refusalOf(await ofPart.call('GET', '/me'))).toEqual(closed);
    const roles = await rowsOf<{ id: string }>(
      api,
      `select id from administrator_roles where account_id = $1 and system_key = 'admin'`,
      [account.scope.accountId],
    );
    const taken = { roles: [{ role_id: roles[0]?.id }] };
    ok(await owner.call('PATCH', `/members/${second.membershipId}`, taken));
    expect(refusalOf(await second.call('GET', '/me'))).toEqual(closed);
  });

  test('still asks Owners for a second factor that it requires, too', async () => {
    const { account, owner } = await newRequiringAccount(api);
    await rowsOf(api, 'update accounts set require_mfa = true where id = $1', [account.scope.accountId]);
    expect(refusalOf(await owner.call('GET', '/me'))).toEqual([403, 'mfa.enrollment_required']);
    const mia = await newMember(api, account, 'viewer');
    expect(refusalOf(await mia.call('GET', '/me'))).toEqual(closed);
  });

  test('is 404 to strangers, and requires nothing in another account of the same person', async () => {
    const { account, connection } = await newRequiringAccount(api);
    const other = await newAccount(api);
    const mia = await newMember(api, account, 'admin');
    const there = await newMember(api, other, 'admin', mia);
    ok(await there.call('GET', '/me'));
    const stranger = await newMember(api, other, 'owner');
    const url = `/portal/v1/accounts/${account.accountSlug}/me`;
    const answer = await api.app.inject({ url, headers: stranger.headers });
    expect(refusalOf(answer)).toEqual([404, 'account.not_found']);
    // The provider of one of the Accounts opens this one alone, also to an Owner.
    await comeBy(api, mia, connection);
    expect(refusalOf(await there.call('GET', '/me'))).toEqual([403, 'account.other_sign_in_required']);
    const its = await newSsoAccount(api);
    const owner = await newMember(api, account, 'owner');
    await newMember(api, its.account, 'viewer', owner);
    await comeBy(api, owner, its.connection);
    expect(refusalOf(await owner.call('GET', '/me'))).toEqual([403, 'account.other_sign_in_required']);
  });

  test('keeps the keys that a member made, and lets a member leave without its provider', async () => {
    const { account, connection, owner } = await newSsoAccount(api);
    const mia = await newMember(api, account, 'admin');
    const url = account.portalPath('/api-keys');
    const payload = { name: 'Nightly', access_mode: 'full' };
    const made = ok(await api.app.inject({ method: 'POST', url, headers: mia.headers, payload }), 201);
    await comeBy(api, owner, connection);
    ok(await require(owner));
    const headers = { 'x-api-key': made.secret };
    expect(outcomeOf(await api.app.inject({ url: '/api/v1/identities', headers }))).toBe('200');
    expect(refusalOf(await api.app.inject({ url, headers: mia.headers }))).toEqual(closed);
    const left = await api.app.inject({
      method: 'DELETE',
      url: `/v1/auth/accounts/${account.scope.accountId}/membership`,
      headers: mia.headers,
    });
    expect(left.statusCode).toBe(204);
  });
});

describe('the list of members', () => {
  test('shows whom the account’s identity provider can sign in', async () => {
    const { account, domain, connection, owner } = await newSsoAccount(api);
    const mia = await newMember(api, account, 'viewer');
    await api.database.db.transaction('system', (tx) =>
      tx.update(User, { id: mia.userId }, { email: `mia@${domain.toUpperCase()}` }),
    );
    const shown = async () => {
      const { items } = (await owner.call('GET', '/members')).json();
      return Object.fromEntries(
        items.map((one: { id: string; sso_available: boolean }) => [one.id, one.sso_available]),
      );
    };
    expect(await shown()).toMatchObject({ [owner.membershipId]: false, [mia.membershipId]: true });
    expect(ok(await owner.call('GET', `/members/${mia.membershipId}`)).sso_available).toBe(true);
    await rowsOf(api, `update sso_connections set status = 'auto_disabled' where id = $1`, [connection.id]);
    expect(await shown()).toMatchObject({ [mia.membershipId]: false });
  });
});

describe('a connection of an account that requires single sign-on', () => {
  const path = ({ id }: Pick<SsoConnection, 'id'>) => `/sso/connections/${id}`;
  const disable = (by: TestMember, connection: SsoConnection) => by.call('POST', `${path(connection)}/disable`);
  const remove = (by: TestMember, connection: SsoConnection) => by.call('DELETE', path(connection));
  const required = [409, 'sso_connection.required'];

  /** Creates such an Account, with a member who came through its connection and manages it. */
  async function kept() {
    const place = await newRequiringAccount(api);
    const keeper = await newKeeper(place.account, place.owner);
    await comeBy(api, keeper, place.connection);
    return { ...place, keeper };
  }

  test('is disabled by an Owner alone and deleted by nobody, while it is the last', async () => {
    const { account, connection, owner, keeper } = await kept();
    expect(refusalOf(await disable(keeper, connection))).toEqual(required);
    expect(refusalOf(await remove(keeper, connection))).toEqual(required);
    expect(refusalOf(await remove(owner, connection))).toEqual(required);
    ok(await keeper.call('GET', '/me'));
    ok(await disable(owner, connection));
    expect(outcomeOf(await keeper.call('GET', '/me'))).toBe('401');
    expect(refusalOf(await remove(owner, connection))).toEqual(required);
    ok(await owner.call('POST', `${path(connection)}/activate`));
    ok(await require(owner, false));
    expect(outcomeOf(await remove(owner, connection))).toBe('204');
    expect(await settingOf(account)).toBe(false);
  });

  test('that has switched itself off is kept as well', async () => {
    const { connection, keeper } = await kept();
    await rowsOf(api, `update sso_connections set status = 'auto_disabled' where id = $1`, [connection.id]);
    expect(refusalOf(await disable(keeper, connection))).toEqual(required);
    expect(refusalOf(await remove(keeper, connection))).toEqual(required);
  });

  test('can go while another is active, or if it never was; those of end users always can', async () => {
    const { account, connection, keeper, owner } = await kept();
    const never = await newAdminConnection(api, account, { status: 'configuring' });
    expect(outcomeOf(await remove(keeper, never))).toBe('204');
    const { environmentId } = account.scope;
    const ofPeople = await newAdminConnection(api, account, { scope: 'identity', environmentId });
    expect(refusalOf(await disable(keeper, connection))).toEqual(required);
    const url = account.portalPath(`/sso-connections/${ofPeople.id}`);
    const gone = await api.app.inject({ method: 'DELETE', url, headers: keeper.headers });
    expect(outcomeOf(gone)).toBe('204');
    const second = await newAdminConnection(api, account);
    ok(await disable(keeper, second));
    ok(await owner.call('POST', `${path(second)}/activate`));
    ok(await disable(keeper, connection));
    expect(refusalOf(await remove(owner, second))).toEqual(required);
  });

  test('is left by two that end at once: the second finds the first ended', async () => {
    const { account, connection, owner } = await kept();
    const second = await newAdminConnection(api, account);
    const answer = await comingUpon(
      api.database,
      async (tx) => {
        await tx.query('select from accounts where id = $1 for no key update', [account.scope.accountId]);
        await tx.query(`update sso_connections set status = 'disabled' where id = $1`, [second.id]);
      },
      () => remove(owner, connection),
    );
    expect(refusalOf(answer)).toEqual(required);
  });

  test('cannot go while the account comes to require it', async () => {
    const { account, connection, owner } = await newSsoAccount(api);
    const answer = await comingUpon(
      api.database,
      (tx) => tx.query('update accounts set require_sso = true where id = $1', [account.scope.accountId]),
      () => remove(owner, connection),
    );
    expect(refusalOf(answer)).toEqual(required);
  });
});

test('an invite that is accepted with a password makes a member, whom the password does not let in', async () => {
  const { domain, owner } = await newRequiringAccount(api);
  const { roleId } = await viewerOf(owner);
  const email = `ivo@${domain}`;
  const { token } = await invite(owner.call, { email, role_id: roleId });
  const post = (path: string, payload: object) => api.app.inject({ method: 'POST', url: `/v1/auth${path}`, payload });
  const password = 'violet tractor 19';
  const accepted = await post('/accept-invite', { token, first_name: 'Ivo', last_name: 'Kern', password });
  expect(outcomeOf(accepted)).toBe('200');
  expect(ok(await post('/login', { email, password })).outcome).toBe('sso_required');
});

const viewerOf = async (owner: TestMember) => ({ roleId: (await rolesByKey(owner.call)).viewer as string });
