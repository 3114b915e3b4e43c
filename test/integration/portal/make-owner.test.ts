import { createOwnerByOperator } from '../../../src/domain/accounts/make-owner.js';
import { adminMfaMails } from '../../../src/domain/admin-mfa/mails.js';
import { newMember, newPerson, rolesByKey, type TestMember } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { databaseTime, eventsSince, rowsOf } from '../../support/rows.js';
import { comingUpon } from '../../support/uncommitted.js';

/** An Account whose Owners can do nothing any more gets another one from the operators of the service. */

let api: TestApi;
let account: TestAccount;
let owner: Call;
let makeOwner: ReturnType<typeof createOwnerByOperator>;
beforeAll(async () => {
  api = await startApi();
  makeOwner = createOwnerByOperator({ db: api.database.db, now: () => api.clock.now });
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api.stop());

const rolesIn = async ({ userId }: Pick<TestMember, 'userId'>) => {
  const { items } = (await owner('GET', '/members')).json();
  return items.find(({ user_id }: { user_id: string }) => user_id === userId)?.roles;
};
const appointed = ({ scope }: TestAccount) =>
  rowsOf<{ id: string }>(
    api,
    `select id, actor_type, resource_id, metadata, severity, is_domain_event from events
     where account_id = $1 and action = 'account.owner_appointed'`,
    [scope.accountId],
  );

test('somebody who was no member administers the Account from the next request on, and every Owner is told', async () => {
  const person = await newPerson(api);
  const newcomer = callsOf(api, account.accountSlug, person.headers);
  expect(outcomeOf(await newcomer('GET', '/members'))).toBe('404 account.not_found');
  const since = await databaseTime(api);
  expect(await makeOwner(account.accountSlug, person.email.toUpperCase())).toBe('made');

  expect(outcomeOf(await newcomer('GET', '/members'))).toBe('200');
  const roles = await rolesByKey(owner);
  expect(await rolesIn(person)).toEqual([{ role_id: roles.owner, name: 'Owner', limits: null }]);
  expect(await eventsSince(api, account.scope.accountId, since)).toMatchObject([
    { action: 'member.added', actor_id: null, metadata: { user_id: person.userId, role_ids: [roles.owner] } },
  ]);
  const [event, ...others] = await appointed(account);
  expect(others).toEqual([]);
  expect(event).toMatchObject({
    actor_type: 'system',
    resource_id: account.scope.accountId,
    metadata: { user_id: person.userId },
    severity: 'warning',
    is_domain_event: false,
  });
  const mails = await rowsOf<{ to: string }>(
    api,
    `select recipient_id as "to" from emails where template = 'admin-security-notice' and subject_id = $1`,
    [event?.id],
  );
  expect(mails.map(({ to }) => to).sort()).toEqual([account.userId, person.userId].sort());
  const mail = adminMfaMails({ signInUrl: null })['admin-security-notice'];
  const said = (locale: 'en' | 'de') =>
    api.database.db.transaction('system', (tx) => mail(tx, event?.id as string, locale, person.userId));
  const { name } = (await owner('GET', '')).json().data;
  expect((await said('en'))?.values.what).toBe(
    `The operators of this service have appointed another Owner of the account “${name}”.`,
  );
  expect((await said('de'))?.values.what).toContain(`Owner des Kontos „${name}“`);
  // The former Owner can now be removed.
  const { items } = (await newcomer('GET', `/members?role_id=${roles.owner}`)).json();
  const former = items.find(({ user_id }: { user_id: string }) => user_id === account.userId);
  expect(outcomeOf(await newcomer('DELETE', `/members/${former.id}`))).toBe('204');
});

test('a member keeps their other roles, and an Owner role with limits becomes one without', async () => {
  const roles = await rolesByKey(owner);
  const support = await newMember(api, account, 'support');
  const since = await databaseTime(api);
  expect(await makeOwner(account.accountSlug, support.email)).toBe('made');
  const both = [
    { role_id: roles.owner, limits: null },
    { role_id: roles.support, limits: null },
  ];
  expect(await rolesIn(support)).toMatchObject(both);
  expect(await eventsSince(api, account.scope.accountId, since)).toMatchObject([
    { action: 'member.updated', metadata: { user_id: support.userId, roles: both } },
  ]);

  const limits = { application_ids: [account.scope.applicationId] };
  const limited = await newMember(api, account, 'owner', undefined, limits);
  expect(await makeOwner(account.accountSlug, limited.email)).toBe('made');
  expect(await rolesIn(limited)).toEqual([{ role_id: roles.owner, name: 'Owner', limits: null }]);
});

test('whoever is an Owner already stays one, and nobody is told', async () => {
  const second = await newMember(api, account, 'owner');
  expect(await makeOwner(account.accountSlug, second.email)).toBe('is_owner');
  expect(await appointed(account)).toEqual([]);
});

test('whoever is getting another address at this moment does not become an Owner by the one that was named', async () => {
  const person = await newPerson(api);
  const outcome = await comingUpon(
    api.database,
    (tx) => tx.query(`update users set email = 'moved-' || email where id = $1`, [person.userId]),
    () => makeOwner(account.accountSlug, person.email),
  );
  expect(outcome).toBe('no_user');
  expect(await appointed(account)).toEqual([]);
});

test('an Account that is being closed at this moment gets no Owner', async () => {
  const person = await newPerson(api);
  const outcome = await comingUpon(
    api.database,
    (tx) => tx.query('update accounts set closed_at = now() where id = $1', [account.scope.accountId]),
    () => makeOwner(account.accountSlug, person.email),
  );
  expect(outcome).toBe('no_account');
  expect(await appointed(account)).toEqual([]);
  expect(await rowsOf(api, 'select from memberships where user_id = $1', [person.userId])).toEqual([]);
});

test('only administrators with a confirmed address become Owners, and only of an open Account', async () => {
  expect(await makeOwner(account.accountSlug, 'nobody@example.com')).toBe('no_user');
  const unconfirmed = await newPerson(api, { emailVerifiedAt: null });
  expect(await makeOwner(account.accountSlug, unconfirmed.email)).toBe('no_user');
  const person = await newPerson(api);
  expect(await makeOwner('no-such-account', person.email)).toBe('no_account');
  await rowsOf(api, 'update accounts set closed_at = now() where id = $1', [account.scope.accountId]);
  expect(await makeOwner(account.accountSlug, person.email)).toBe('no_account');
  expect(await appointed(account)).toEqual([]);
});
