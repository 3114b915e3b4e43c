import { Event } from '../../../entities/event.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { User } from '../../../entities/user.js';
import { minutes } from '../../../src/platform/clock.js';
import { type AdminAuth, bearer, cookieHeader, newAdminAuth } from '../../support/admin-auth.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

type Added = Awaited<ReturnType<AdminAuth['addUser']>>;

async function signedIn(options?: Parameters<AdminAuth['addUser']>[0]) {
  const user = await auth.addUser(options);
  const answer = await auth.post('/login', { email: user.email, password: user.password });
  return { user, headers: bearer(answer.json().data.access_token), cookie: cookieHeader(answer) };
}
const rows = <Row>(sql: string, parameters: unknown[]) =>
  auth.db.transaction('system', (tx) => tx.query<Row[]>(sql, parameters));
const codeOf = (answer: Awaited<ReturnType<AdminAuth['get']>>) => answer.json().error.code as string;

/** Makes a user an Owner of another user's only Account. */
async function addOwner({ accounts: [of] }: Added, { id: userId }: Added) {
  const accountId = of!.account.id;
  await auth.db.transaction('system', async (tx) => {
    const { roleId } = await tx.findOneByOrFail(MembershipRole, { accountId });
    const membership = tx.create(Membership, { id: crypto.randomUUID(), accountId, userId, createdAt: auth.now() });
    await tx.insert(Membership, membership);
    await tx.insert(MembershipRole, { membershipId: membership.id, roleId, accountId });
  });
}

describe('an administrator’s own name', () => {
  const patch = (payload: object, { headers }: { headers: { authorization: string } }) =>
    auth.app.inject({ method: 'PATCH', url: '/v1/auth/me', payload, headers });

  test('can be changed in part, and the event names the field but not its value', async () => {
    const me = await signedIn();
    const answer = await patch({ last_name: '  Neumann ' }, me);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data.user).toMatchObject({ first_name: 'Ana', last_name: 'Neumann' });
    expect((await auth.get('/me', me.headers)).json()).toEqual(answer.json());
    const [event, ...others] = await auth.db.transaction('system', (tx) =>
      tx.findBy(Event, { action: 'auth.admin_updated', resourceId: me.user.id }),
    );
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      metadata: { changed: ['last_name'] },
      actorId: me.user.id,
      accountId: me.user.accounts[0]?.account.id,
    });
  });

  test('stays, without an event, if the request changes nothing', async () => {
    const me = await signedIn();
    for (const same of [{}, { first_name: 'Ana' }]) expect((await patch(same, me)).statusCode).toBe(200);
    expect(
      await rows(`select from events where action = 'auth.admin_updated' and resource_id = $1`, [me.user.id]),
    ).toEqual([]);
  });

  test.each([{ first_name: '' }, { first_name: 'a\nb' }, { last_name: null }, { email: 'x@example.com' }])(
    'is refused as %j',
    async (body) => {
      expect(codeOf(await patch(body, await signedIn()))).toBe('validation.failed');
    },
  );
});

describe('an administrator’s own sign-in', () => {
  test('is deleted with all personal data; the audit log keeps the id', async () => {
    const other = await signedIn();
    const me = await signedIn({ accounts: [] });
    await addOwner(other.user, me.user);
    const answer = await auth.delete('/me', me.headers);
    expect(answer.statusCode).toBe(204);
    expect(answer.cookies.map(({ name, maxAge }) => [name, maxAge])).toEqual([
      ['admin_refresh', 0],
      ['admin_session', 0],
    ]);
    expect((await auth.get('/me', me.headers)).statusCode).toBe(401);
    expect((await auth.post('/refresh', undefined, me.cookie)).statusCode).toBe(401);
    expect((await auth.post('/login', { email: me.user.email, password: me.user.password })).statusCode).toBe(401);

    const columns = await rows<{ table: string; column: string }>(
      `select table_name as "table", column_name as "column" from information_schema.columns
       where table_schema = 'public' and column_name in ('user_id', 'family_id', 'recipient_id') and table_name not like 'events%'`,
      [],
    );
    expect(columns.length).toBeGreaterThan(8);
    for (const { table, column } of columns) {
      const left = await rows(`select from ${table} where ${column}::text = $1`, [me.user.id]);
      expect({ table, column, left }).toEqual({ table, column, left: [] });
    }
    expect(await rows(`select from refresh_tokens where family_id not in (select id from user_sessions)`, [])).toEqual(
      [],
    );
    expect(await rows(`select from users where email = $1`, [me.user.email])).toEqual([]);
    const told = await rows<{ action: string }>(
      `select action, account_id from events where actor_id = $1 and action in ('member.removed', 'auth.admin_deleted') order by action`,
      [me.user.id],
    );
    expect(told.map(({ action }) => action)).toEqual(['auth.admin_deleted', 'member.removed']);
    expect((await auth.get('/me', other.headers)).statusCode).toBe(200);
  });

  test('stays, in all of their Accounts, if it is the last Owner’s of one of them', async () => {
    const user = await auth.addUser({ accounts: [1, 1] });
    const partner = await auth.addUser({ accounts: [] });
    await addOwner({ ...user, accounts: user.accounts.slice(0, 1) }, partner);
    const answer = await auth.delete('/me', await headersOf(user));
    expect(answer.json().error).toMatchObject({
      code: 'member.last_owner',
      details: [{ field: user.accounts[1]?.account.slug, code: 'last_owner' }],
    });
    expect(await rows('select from memberships where user_id = $1', [user.id])).toHaveLength(2);
  });

  test('wants a sign-in of the last ten minutes', async () => {
    const me = await signedIn({ accounts: [] });
    auth.pass(minutes(11));
    expect(codeOf(await auth.delete('/me', me.headers))).toBe('auth.reauthentication_required');
    expect(await auth.db.transaction('system', (tx) => tx.existsBy(User, { id: me.user.id }))).toBe(true);
  });

  test('stays for one of two Owners who delete theirs at once', async () => {
    for (let round = 0; round < 3; round++) {
      const one = await signedIn();
      const two = await signedIn({ accounts: [] });
      await addOwner(one.user, two.user);
      const answers = await Promise.all([one, two].map((me) => auth.delete('/me', me.headers)));
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([204, 409]);
    }
  });

  /** A user with several Applications chooses one at the sign-in; a session without one works here too. */
  const headersOf = async ({ id }: Added) => bearer((await auth.sessionOf(id)).accessToken);
});
