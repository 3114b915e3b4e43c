import type { EntityManager } from 'typeorm';
import { Membership } from '../../entities/membership.js';
import { createHousekeeping, type SweepPlace } from '../../src/domain/housekeeping/housekeeping.js';
import { minutes } from '../../src/platform/clock.js';
import { invite, newMember, rolesByKey, type TestMember } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf } from '../support/calls.js';
import { finishRemovals } from '../support/finish-removals.js';
import { databaseTime, eventsSince, rowsOf } from '../support/rows.js';
import { statementsOf } from '../support/statements.js';
import { comingUpon } from '../support/uncommitted.js';

let api: TestApi;
let account: TestAccount;
let headers: Record<string, string>;
let owner: Call;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  headers = await account.as('owner');
  owner = callsOf(api, account.accountSlug, headers);
});
afterAll(() => api.stop());

const close = (by = headers, confirm: string | null = account.accountSlug, id = account.scope.accountId) =>
  api.app.inject({
    method: 'DELETE',
    url: `/v1/auth/accounts/${id}`,
    headers: by,
    ...(confirm !== null && { query: { confirm } }),
  });
const removeApplications = async () => {
  const { items } = (await owner('GET', '/applications')).json<{ items: { slug: string }[] }>();
  for (const { slug } of items) {
    expect(outcomeOf(await owner('DELETE', `/applications/${slug}?confirm=${slug}`))).toBe('204');
  }
};
/** Runs all of housekeeping's work for closed Accounts. */
async function sweep(batchSize = 2, now = new Date()) {
  const housekeeping = createHousekeeping({ db: api.database.db, now: () => now, auditRetentionDays: 365 });
  let place: SweepPlace | null = { rule: 'accounts', after: null, looked: 0 };
  let deleted = 0;
  while (place?.rule === 'accounts') {
    const swept = await housekeeping.sweep(place, batchSize);
    deleted += swept.deleted;
    place = swept.next;
  }
  return deleted;
}
/** The tables with rows of an Account. */
async function tablesWith(accountId: string): Promise<string[]> {
  const tables = await rowsOf<{ name: string }>(
    api,
    `select attrelid::regclass::text as name from pg_attribute join pg_class on pg_class.oid = attrelid
     where attname = 'account_id' and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables)
    if ((await rowsOf(api, `select from ${name} where account_id = $1 limit 1`, [accountId])).length > 0)
      found.push(name);
  return found;
}
const isThere = async () =>
  (await rowsOf(api, 'select from accounts where id = $1', [account.scope.accountId])).length === 1;

describe('an account', () => {
  test('is closed even if its slug has been taken by another account', async () => {
    const other = await newAccount(api);
    const theirs = callsOf(api, other.accountSlug, await other.as('owner'));
    const id = account.scope.accountId;
    const taking = async (slug: string) => outcomeOf(await theirs('PATCH', '', { slug }));
    await removeApplications();
    expect(await taking(`closed_${id}`)).toBe('400 validation.failed');
    expect(await taking(`closed-${id}`)).toBe('200');
    expect(outcomeOf(await close())).toBe('204');
  });

  test('that is closed disappears at once, with its members, invites, providers, domains and webhooks; its slug is free', async () => {
    const member = await newMember(api, account, 'admin');
    const second = await newMember(api, account, 'owner');
    const roles = (await owner('GET', '/administrator-roles')).json<{ items: { id: string }[] }>().items;
    const made = [
      await owner('POST', '/administrator-invites', {
        email: 'ivo@example.com',
        first_name: 'Ivo',
        last_name: 'Kern',
        role_id: roles[0]?.id,
      }),
      await owner('POST', '/sso/domains', { domain: `${account.accountSlug}.example` }),
      await owner('POST', '/sso/connections', { type: 'oidc', name: 'Provider' }),
      await owner('POST', '/webhooks', { url: 'https://receiver.example/', event_types: ['*'] }),
    ];
    expect(made.map(outcomeOf)).toEqual(['201', '201', '201', '201']);
    await removeApplications();
    const since = await databaseTime(api);
    expect(outcomeOf(await close())).toBe('204');

    const told = await eventsSince(api, account.scope.accountId, since);
    expect(told.map(({ action }) => action).sort()).toEqual([
      'administrator_invite.revoked',
      'member.removed',
      'member.removed',
      'member.removed',
      'sso.domain.deleted',
      'sso_connection.deleted',
    ]);
    const closing = `select actor_id, metadata, is_domain_event from events where account_id = $1 and action = 'account.closed'`;
    expect(await rowsOf(api, closing, [account.scope.accountId])).toMatchObject([
      { actor_id: account.userId, metadata: { slug: account.accountSlug }, is_domain_event: false },
    ]);
    for (const call of [owner, member.call, second.call]) {
      expect(outcomeOf(await call('GET', ''))).toBe('404 account.not_found');
    }
    expect(outcomeOf(await close())).toBe('404 account.not_found');
    const me = await api.app.inject({ url: '/v1/auth/me', headers });
    expect(me.json().data.accounts).toEqual([]);
    const left = await rowsOf<{
      pending: number;
      routes: number;
      connections: number;
      domains: number;
      told: string[];
    }>(
      api,
      `select (select count(*)::int from administrator_invites where account_id = $1 and status = 'pending') as pending,
         (select count(*)::int from webhook_routes r join webhooks w on w.id = r.webhook_id where w.account_id = $1) as routes,
         (select count(*)::int from sso_connections where account_id = $1) as connections,
         (select count(*)::int from sso_domains where account_id = $1) as domains,
         (select array_agg(recipient_id::text) from emails where template = 'admin-security-notice'
            and subject_id = (select id from events where action = 'account.closed' and account_id = $1)) as told`,
      [account.scope.accountId],
    );
    expect(left).toEqual([{ pending: 0, routes: 0, connections: 0, domains: 0, told: expect.any(Array) }]);
    expect([...(left[0]?.told ?? [])].sort()).toEqual([account.userId, second.userId].sort());
    const taker = await newAccount(api);
    const take = callsOf(api, taker.accountSlug, await taker.as('owner'));
    expect(outcomeOf(await take('PATCH', '', { slug: account.accountSlug }))).toBe('200');
  });

  test.each<[string, 'POST' | 'PATCH', string, object]>([
    ['a new application', 'POST', '/applications', { name: 'Late' }],
    ['a new webhook', 'POST', '/webhooks', { url: 'https://receiver.example/', event_types: ['*'] }],
    ['a new domain', 'POST', '/sso/domains', { domain: 'late-acme.com' }],
    ['a new connection', 'POST', '/sso/connections', { type: 'saml', name: 'Late' }],
    ['a new slug', 'PATCH', '', { name: 'Late', slug: 'late-acme' }],
  ])('that is closed during a request refuses it: %s', async (_, method, path, payload) => {
    await removeApplications();
    const { accountId } = account.scope;
    const made = await comingUpon(
      api.database,
      (tx) =>
        tx.query('update accounts set closed_at = now(), slug = $2 where id = $1', [accountId, `closed_${accountId}`]),
      () => owner(method, path, payload),
    );
    expect(outcomeOf(made)).toBe('404 account.not_found');
    const left = await rowsOf(
      api,
      `select slug, (select count(*)::int from applications where account_id = a.id and slug = 'late') as applications,
         (select count(*)::int from webhooks where account_id = a.id and environment_id is null) as webhooks,
         (select count(*)::int from sso_domains where account_id = a.id) as domains,
         (select count(*)::int from sso_connections where account_id = a.id) as connections
       from accounts a where id = $1`,
      [accountId],
    );
    const nothing = { applications: 0, webhooks: 0, domains: 0, connections: 0 };
    expect(left).toEqual([{ slug: `closed_${accountId}`, ...nothing }]);
  });

  test('with many members and invites is closed by few statements, each with its event', async () => {
    const { accountId } = account.scope;
    await removeApplications();
    const { membershipId: memberId } = await newMember(api, account, 'viewer');
    const { id: inviteId } = await invite(owner, { role_id: (await rolesByKey(owner)).viewer });
    await rowsOf(
      api,
      `insert into administrator_invites select (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
         'email', n || '.' || i.email, 'token_hash', sha256((n || i.email)::text::bytea)))).*
       from administrator_invites i, generate_series(1, 200) n where id = $1`,
      [inviteId],
    );
    await rowsOf(
      api,
      `with made as (
         insert into users select (jsonb_populate_record(u, jsonb_build_object('id', gen_random_uuid(), 'email', n || '.' || u.email))).*
         from users u join memberships m on m.user_id = u.id, generate_series(1, 200) n where m.id = $1 returning id)
       insert into memberships select (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(), 'user_id', made.id))).*
       from memberships m, made where m.id = $1`,
      [memberId],
    );
    const since = await databaseTime(api);
    expect(await statementsOf(async () => expect(outcomeOf(await close())).toBe('204'))).toBeLessThan(100);
    const told = await rowsOf<{ action: string; count: number }>(
      api,
      `select action, count(*)::int, count(distinct resource_id)::int as resources from events
       where account_id = $1 and created_at > $2::timestamptz and action in ('member.removed', 'administrator_invite.revoked')
       group by action order by action`,
      [accountId, since],
    );
    expect(told).toEqual([
      { action: 'administrator_invite.revoked', count: 201, resources: 201 },
      { action: 'member.removed', count: 202, resources: 202 },
    ]);
  });

  test('is deleted with its directory and deliveries once its Environments are removed', async () => {
    const webhook = (await owner('POST', '/webhooks', { url: 'https://receiver.example/', event_types: ['*'] })).json()
      .data.id;
    await removeApplications();
    const { accountId } = account.scope;
    await rowsOf(
      api,
      `insert into webhook_deliveries (id, account_id, webhook_id, event_id, event_type, body, status, attempt_count, created_at)
       select gen_random_uuid(), $1, $2, gen_random_uuid(), 'application.deleted', '{}', 'pending', 0, now() from generate_series(1, 5)`,
      [accountId, webhook],
    );
    await rowsOf(
      api,
      `insert into identities (id, account_id, email, metadata, created_at, updated_at)
       select gen_random_uuid(), $1, 'eva' || n || '@example.com', '{}', now(), now() from generate_series(1, 3) n`,
      [accountId],
    );
    await rowsOf(
      api,
      `insert into recovery_codes (id, account_id, identity_id, generation, code_hash, created_at)
       select gen_random_uuid(), $1, id, 1, sha256(id::text::bytea), now() from identities where account_id = $1`,
      [accountId],
    );
    expect(await sweep()).toBe(0); // the Account is not closed
    expect(outcomeOf(await close())).toBe('204');
    expect(await sweep()).toBeGreaterThanOrEqual(8);
    expect(await isThere()).toBe(true);
    expect(await sweep()).toBe(0); // and is not checked again for ever
    await finishRemovals(api, accountId);
    expect(await sweep()).toBe(1);
    expect(await isThere()).toBe(false);
    const erased = await rowsOf(api, `select from events where action = 'account.erased' and account_id = $1`, [
      accountId,
    ]);
    expect(erased).toHaveLength(1);
    // Rows of many tables name the Account without a foreign key (docs/decisions/0112).
    expect(await tablesWith(accountId)).toEqual(['events', 'outbox', 'row_counts']);
  });

  test('is deleted a day later if support had stopped the removal of one of its environments', async () => {
    await removeApplications();
    const { accountId } = account.scope;
    const running = `select id from environment_removals where account_id = $1 and status = 'running'`;
    const [halted] = await rowsOf<{ id: string }>(api, running, [accountId]);
    expect(outcomeOf(await owner('POST', `/processes/${halted?.id}/cancel`, { reason: 'a busy day' }))).toBe('200');
    expect(outcomeOf(await close())).toBe('204');
    await finishRemovals(api, accountId);
    const asOf = (days: number) => new Date(Date.now() + days * 86_400_000);
    await sweep(2, asOf(0.9));
    expect(await rowsOf(api, running, [accountId])).toEqual([]);
    await sweep(2, asOf(1.1));
    expect(await rowsOf(api, running, [accountId])).toEqual([halted]);
    await finishRemovals(api, accountId);
    await sweep();
    expect(await isThere()).toBe(false);
  });
});

describe('an account stays', () => {
  let admin: TestMember;
  beforeEach(async () => {
    admin = await newMember(api, account, 'admin');
  });
  afterEach(async () => {
    const { accountId } = account.scope;
    expect(outcomeOf(await owner('GET', ''))).toBe('200');
    expect(await api.database.db.transaction('system', (tx) => tx.countBy(Membership, { accountId }))).toBe(2);
  });

  test('while it has applications', async () => {
    expect(outcomeOf(await close())).toBe('409 account.has_applications');
  });

  test.each([null, '', 'ACCOUNT', 'another'])('when %j is sent instead of its slug', async (confirm) => {
    await removeApplications();
    expect(outcomeOf(await close(headers, confirm))).toBe('400 account.confirmation_required');
  });

  test('when the caller is no Owner, or no member', async () => {
    await removeApplications();
    expect(outcomeOf(await close(admin.headers))).toBe('403 account.owner_required');
    expect(outcomeOf(await close(await (await newAccount(api)).as('owner')))).toBe('404 account.not_found');
    expect(outcomeOf(await close(headers, account.accountSlug, account.userId))).toBe('404 account.not_found');
    const { items } = (await owner('GET', '/audit-log?outcome=denied')).json();
    expect(items).toHaveLength(1); // strangers cannot write to another Account's log
    expect(items[0]).toMatchObject({
      action: 'auth.access_denied',
      resource_id: 'closeAccount',
      actor_id: admin.userId,
    });
  });

  test('when the sign-in is older than ten minutes', async () => {
    await removeApplications();
    const late = await newMember(api, await newAccount(api), 'owner');
    api.clock.advance(minutes(11));
    expect(outcomeOf(await close())).toBe('403 auth.reauthentication_required');
    expect(outcomeOf(await close(late.headers))).toBe('404 account.not_found'); // reveals nothing to strangers
  });
});

test('an Owner whose membership ends while they close the account is refused as if they had come later: no right is denied', async () => {
  await removeApplications();
  const { accountId } = account.scope;
  const end = async (tx: EntityManager) => {
    await tx.query('select from accounts where id = $1 for no key update', [accountId]);
    await tx.query('delete from memberships where account_id = $1', [accountId]);
  };
  expect(outcomeOf(await comingUpon(api.database, end, () => close()))).toBe('404 account.not_found');
  const denials = await rowsOf(api, `select from events where account_id = $1 and outcome = 'denied'`, [accountId]);
  expect(denials).toEqual([]);
});
