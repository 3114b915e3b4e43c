import { Email } from '../../../entities/email.js';
import { Event } from '../../../entities/event.js';
import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { ok, refusalOf } from '../../support/admin-mfa.js';
import { newMember, type TestMember } from '../../support/administrators.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { totpCode } from '../../support/mfa.js';
import { comingUpon } from '../../support/uncommitted.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const ownRoute = (method: 'GET' | 'POST' | 'DELETE', path: string, { headers }: TestMember, payload?: object) =>
  api.app.inject({ method, url: `/v1/auth${path}`, headers, ...(payload && { payload }) });

/** Adds an authenticator app to a member, in their session. */
async function enroll(member: TestMember): Promise<string> {
  const begun = ok(await ownRoute('POST', '/mfa/totp/enroll', member));
  const code = totpCode(begun.secret, api.clock.now);
  const added = await ownRoute('POST', '/mfa/totp/confirm', member, { enrollment_token: begun.enrollment_token, code });
  return ok(added, 201).factor.id;
}

/** Creates an Account that requires a second factor, by an Owner who has one. */
async function requiring(): Promise<{ account: TestAccount; owner: TestMember }> {
  const account = await newAccount(api);
  const owner = await newMember(api, account, 'owner');
  await enroll(owner);
  expect(ok(await owner.call('PATCH', '', { require_mfa: true })).require_mfa).toBe(true);
  return { account, owner };
}

/** Creates a member who manages the Account but is no Owner, with a second factor. */
async function newKeeper(account: TestAccount, owner: TestMember): Promise<TestMember> {
  const capabilities = ['account.view', 'account.manage'];
  const role = ok(await owner.call('POST', '/administrator-roles', { name: 'Keeper', capabilities }), 201);
  const keeper = await newMember(api, account, { roleId: role.id });
  await enroll(keeper);
  return keeper;
}

/** Changes their sessions as if they had signed in with the password alone. */
const weaken = ({ userId }: Pick<TestMember, 'userId'>) =>
  api.database.db.transaction('system', (tx) =>
    tx.query(`update user_sessions set acr = 'urn:gatehouse:aal1' where user_id = $1`, [userId]),
  );

describe('an account that requires a second factor', () => {
  test('is made one by an Owner in a session with a factor, and by nobody else', async () => {
    const account = await newAccount(api);
    const [owner, admin] = [await newMember(api, account, 'owner'), await newMember(api, account, 'admin')];
    expect(ok(await owner.call('GET', '')).require_mfa).toBe(false);
    const require = (member: TestMember, require_mfa = true) => member.call('PATCH', '', { require_mfa });
    expect((await require(admin)).statusCode).toBe(403);
    expect(refusalOf(await require(owner))).toEqual([409, 'mfa.not_enrolled']);
    await enroll(owner);
    await weaken(owner);
    expect(refusalOf(await require(owner))).toEqual([403, 'mfa.challenge_required']);
    await api.database.db.transaction('system', (tx) =>
      tx.query(`update user_sessions set acr = 'urn:gatehouse:aal2' where user_id = $1`, [owner.userId]),
    );
    expect(ok(await require(owner)).require_mfa).toBe(true);
    ok(await require(owner)); // the second time changes nothing
    const { accountId } = account.scope;
    const events = await api.database.db.transaction('system', (tx) =>
      tx.findBy(Event, { accountId, action: 'account.updated' }),
    );
    expect(events.map(({ metadata }) => metadata)).toEqual([{ changed: ['require_mfa'] }]);
    expect(ok(await require(owner, false)).require_mfa).toBe(false);
  });

  test('cannot be changed back by an administrator who manages the account and is no Owner', async () => {
    const { account, owner } = await requiring();
    const keeper = await newKeeper(account, owner);
    expect(refusalOf(await keeper.call('PATCH', '', { require_mfa: false }))).toEqual([403, 'account.owner_required']);
    ok(await keeper.call('PATCH', '', { name: 'Another name', require_mfa: true }));
  });

  test.each([true, false])('nor by such an administrator while an Owner sets it to %s', async (wanted) => {
    const { account, owner } = await requiring();
    const keeper = await newKeeper(account, owner);
    if (wanted) ok(await owner.call('PATCH', '', { require_mfa: false }));
    // The request sees the previous state until the Owner's change is committed.
    const answer = await comingUpon(
      api.database,
      (tx) => tx.query('update accounts set require_mfa = $2 where id = $1', [account.scope.accountId, wanted]),
      () => keeper.call('PATCH', '', { name: 'Another name', require_mfa: !wanted }),
    );
    expect(refusalOf(answer)).toEqual([403, 'account.owner_required']);
    expect(ok(await owner.call('GET', ''))).toMatchObject({
      require_mfa: wanted,
      name: expect.not.stringMatching('Another'),
    });
  });

  test('refuses everything to a person without a factor, until they enroll one with the same token', async () => {
    const { account } = await requiring();
    const mia = await newMember(api, account, 'admin');
    const refused = [403, 'mfa.enrollment_required'];
    expect(refusalOf(await mia.call('GET', '/me'))).toEqual(refused);
    expect(refusalOf(await mia.call('GET', '/members'))).toEqual(refused);
    // It comes before a missing resource or an error in the request.
    expect(refusalOf(await mia.call('GET', '/applications/nowhere'))).toEqual(refused);
    expect(refusalOf(await mia.call('POST', '/applications', { nonsense: true }))).toEqual(refused);
    const me = ok(await ownRoute('GET', '/me', mia));
    expect(me.accounts).toEqual([expect.objectContaining({ id: account.scope.accountId, require_mfa: true })]);
    await enroll(mia);
    ok(await mia.call('GET', '/me'));
  });

  test('refuses a session without the second factor to a person who has one', async () => {
    const { account } = await requiring();
    const mia = await newMember(api, account, 'viewer');
    await enroll(mia);
    await weaken(mia);
    expect(refusalOf(await mia.call('GET', '/me'))).toEqual([403, 'mfa.challenge_required']);
  });

  test('is 404 to strangers, and requires nothing in another account of the same person', async () => {
    const { account } = await requiring();
    const other = await newAccount(api);
    const mia = await newMember(api, account, 'admin');
    const there = await newMember(api, other, 'admin', mia);
    ok(await there.call('GET', '/me'));
    const stranger = await newMember(api, other, 'owner');
    const answer = await api.app.inject({
      url: `/portal/v1/accounts/${account.accountSlug}/me`,
      headers: stranger.headers,
    });
    expect(refusalOf(answer)).toEqual([404, 'account.not_found']);
  });

  test('keeps the last factor of its administrators', async () => {
    const { account, owner } = await requiring();
    const mia = await newMember(api, account, 'viewer');
    const [first, second] = [await enroll(mia), await enroll(mia)];
    expect((await ownRoute('DELETE', `/mfa/factors/${first}`, mia)).statusCode).toBe(204);
    expect(refusalOf(await ownRoute('DELETE', `/mfa/factors/${second}`, mia))).toEqual([409, 'mfa.last_factor']);
    expect(ok(await ownRoute('GET', '/mfa/factors', mia)).recovery_codes_remaining).toBe(10);
    ok(await owner.call('PATCH', '', { require_mfa: false }));
    expect((await ownRoute('DELETE', `/mfa/factors/${second}`, mia)).statusCode).toBe(204);
  });

  test('shows for each administrator whether they have one', async () => {
    const { account, owner } = await requiring();
    const mia = await newMember(api, account, 'viewer');
    const { items } = (await owner.call('GET', '/members')).json();
    const byId = Object.fromEntries(
      items.map(({ id, mfa_enrolled }: { id: string; mfa_enrolled: boolean }) => [id, mfa_enrolled]),
    );
    expect(byId).toMatchObject({ [owner.membershipId]: true, [mia.membershipId]: false });
    expect(ok(await owner.call('GET', `/members/${owner.membershipId}`)).mfa_enrolled).toBe(true);
  });
});

describe('a reset of the factors of a member', () => {
  const reset = (by: TestMember, of: Pick<TestMember, 'membershipId'>) =>
    by.call('POST', `/members/${of.membershipId}/mfa/reset`);

  test('removes them, ends the sessions and mails the person', async () => {
    const { account, owner } = await requiring();
    const mia = await newMember(api, account, 'admin');
    await enroll(mia);
    expect(ok(await reset(owner, mia))).toMatchObject({ id: mia.membershipId, mfa_enrolled: false });
    expect(refusalOf(await ownRoute('GET', '/mfa/factors', mia))).toEqual([401, null]);
    const { db } = api.database;
    const left = await db.transaction('system', (tx) =>
      tx.query(
        `select (select count(*)::int from user_mfa_factors where user_id = $1) as factors,
           (select count(*)::int from user_recovery_codes where user_id = $1) as codes`,
        [mia.userId],
      ),
    );
    expect(left).toEqual([{ factors: 0, codes: 0 }]);
    const [event] = await db.transaction('system', (tx) =>
      tx.findBy(Event, { resourceId: mia.membershipId, action: 'member.mfa_reset' }),
    );
    expect(event).toMatchObject({
      accountId: account.scope.accountId,
      actorId: owner.userId,
      customerVisible: true,
      metadata: { user_id: mia.userId, revoked_session_ids: [expect.any(String)] },
    });
    const mails = await db.transaction('system', (tx) => tx.findBy(Email, { recipientId: mia.userId }));
    expect(mails.map(({ subjectId }) => subjectId)).toContain(event?.id);
  });

  test('is for callers who manage members; an Owner’s is for another Owner, and never for oneself', async () => {
    const account = await newAccount(api);
    const [owner, second, admin, viewer] = [
      await newMember(api, account, 'owner'),
      await newMember(api, account, 'owner'),
      await newMember(api, account, 'admin'),
      await newMember(api, account, 'viewer'),
    ];
    expect(refusalOf(await reset(viewer, admin))).toEqual([403, 'account.capability_required']);
    await enroll(owner);
    expect(refusalOf(await reset(owner, owner))).toEqual([403, 'mfa.own_factors']);
    const role = ok(
      await owner.call('POST', '/administrator-roles', {
        name: 'Staff',
        capabilities: ['members.view', 'members.manage'],
      }),
      201,
    );
    const staff = await newMember(api, account, { roleId: role.id });
    expect(refusalOf(await reset(staff, owner))).toEqual([403, 'member.owner_required']);
    ok(await ownRoute('GET', '/mfa/factors', owner));
    ok(await reset(staff, viewer));
    ok(await reset(second, owner));
  });

  test('leaves those of a person who administers another account too, and those of other accounts', async () => {
    const [account, other] = [await newAccount(api), await newAccount(api)];
    const [owner, mia] = [await newMember(api, account, 'owner'), await newMember(api, account, 'admin')];
    const elsewhere = await newMember(api, other, 'viewer', mia);
    await enroll(mia);
    expect(refusalOf(await reset(owner, mia))).toEqual([409, 'member.in_other_accounts']);
    expect(ok(await ownRoute('GET', '/mfa/factors', mia)).factors).toHaveLength(1);
    expect(refusalOf(await reset(owner, elsewhere))).toEqual([404, 'member.not_found']);
  });

  test('is done by the service’s operators, if nobody else may', async () => {
    const [account, other] = [await newAccount(api), await newAccount(api)];
    const mia = await newMember(api, account, 'owner');
    await newMember(api, other, 'viewer', mia);
    await enroll(mia);
    const { db } = api.database;
    const resetByOperator = createMfaResetByOperator({ db, now: () => api.clock.now });
    expect(await resetByOperator('nobody@example.com')).toBe(false);
    expect(await resetByOperator(mia.email.toUpperCase())).toBe(true);
    expect(refusalOf(await ownRoute('GET', '/mfa/factors', mia))).toEqual([401, null]);
    const [event] = await db.transaction('system', (tx) =>
      tx.findBy(Event, { resourceId: mia.userId, action: 'auth.admin_mfa_reset' }),
    );
    expect(event).toMatchObject({ actorType: 'system', metadata: { revoked_session_ids: [expect.any(String)] } });
    const mails = await db.transaction('system', (tx) => tx.findBy(Email, { recipientId: mia.userId }));
    expect(mails.map(({ subjectId }) => subjectId)).toContain(event?.id);
  });

  test('the operator resets nobody who is getting another address at this moment', async () => {
    const account = await newAccount(api);
    const mia = await newMember(api, account, 'owner');
    await enroll(mia);
    const reset = await comingUpon(
      api.database,
      (tx) => tx.query(`update users set email = 'moved-' || email where id = $1`, [mia.userId]),
      () => createMfaResetByOperator({ db: api.database.db, now: () => api.clock.now })(mia.email),
    );
    expect(reset).toBe(false);
    expect(ok(await ownRoute('GET', '/mfa/factors', mia)).factors).toHaveLength(1);
  });
});
