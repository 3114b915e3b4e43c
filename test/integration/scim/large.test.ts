import { jest } from '@jest/globals';
import pg from 'pg';
import { outcomeOf } from '../../support/answers.js';
import { callsOf } from '../../support/calls.js';
import { rowsOf } from '../../support/rows.js';
import { anAddress, make, operations, scimOutcome, startDirectory } from '../../support/scim.js';

/** The limits of members and operations in one request (docs/scim.md), with all that clients send for each. */
const max = 1000;

const { api, account, call } = await startDirectory();
afterAll(() => api.stop());
const members = await people(max + 1);

/** Creates users of the Environment's directory, in one statement. */
async function people(count: number) {
  const { accountId, environmentId } = account.scope;
  const addresses = Array.from({ length: count }, () => anAddress());
  const rows = await rowsOf<{ id: string }>(
    api,
    `with made as (
       insert into identities (id, account_id, email, metadata, created_at, updated_at)
       select gen_random_uuid(), $1::uuid, email, '{}', now(), now() from unnest($3::text[]) as email returning id, email),
     joined as (
       insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
       select gen_random_uuid(), $1::uuid, $2::uuid, id, true, now() from made returning identity_id)
     select id from made`,
    [accountId, environmentId, addresses],
  );
  await rowsOf(
    api,
    `insert into scim_users (account_id, environment_id, identity_id, organization_id, directory_id, user_name, user_name_key,
       external_id, attributes, made_membership, is_suspended, created_at, updated_at)
     select account_id, $1::uuid, id, null, $1::uuid, email, lower(email::text), null, '{}', true, false, now(), now()
     from identities where account_id = $2 on conflict do nothing`,
    [environmentId, accountId],
  );
  return rows.map(({ id }) => ({ value: id }));
}

const newGroup = async (displayName: string, count = 0): Promise<string> => {
  const made = await call('POST', '/Groups', { displayName, members: members.slice(0, count) });
  expect(scimOutcome(made)).toBe('201');
  return made.json().id;
};
const sizeOf = async (id: string) => (await call('GET', `/Groups/${id}`)).json().members?.length ?? 0;

test.each(['application/scim+json', 'application/json'])(
  'a thousand members are created and replaced as they were read, as %s',
  async (type) => {
    const typed = { 'content-type': type };
    const made = await call('POST', '/Groups', { displayName: type, members: members.slice(0, max) }, typed);
    expect(scimOutcome(made)).toBe('201');
    const read = (await call('GET', `/Groups/${made.json().id}`)).json();
    expect(read.members[0]).toHaveProperty('$ref');
    const named = {
      ...read,
      members: read.members.map((member: object) => ({ ...member, display: 'Ada, "the" [first]' })),
    };
    expect(scimOutcome(await call('PUT', `/Groups/${read.id}`, named, typed))).toBe('200');
    expect(await sizeOf(read.id)).toBe(max);
  },
);

test('a thousand members are added in one operation and removed in as many', async () => {
  const id = await newGroup('one by one');
  const shown = members.slice(0, max).map((member) => ({ ...member, display: 'Ada', type: 'User' }));
  expect(
    scimOutcome(await call('PATCH', `/Groups/${id}`, operations({ op: 'add', path: 'members', value: shown }))),
  ).toMatch(/^20/);
  expect(await sizeOf(id)).toBe(max);
  const each = shown.map((member) => ({ op: 'remove', path: 'members', value: [member] }));
  expect(scimOutcome(await call('PATCH', `/Groups/${id}`, operations(...each)))).toMatch(/^20/);
  expect(await sizeOf(id)).toBe(0);
});

test('a group of more than a thousand members is refused, and one of far more is not even read', async () => {
  const one = await call('POST', '/Groups', { displayName: 'one more', members });
  expect([scimOutcome(one), one.json().detail]).toEqual([
    '400 invalidValue',
    expect.stringContaining('more than 1000'),
  ]);
  const far = await call('POST', '/Groups', { displayName: 'far more', members: Array(4 * max).fill({}) });
  expect([scimOutcome(far), far.json().detail]).toEqual(['400 invalidValue', expect.stringContaining('far more')]);
});

test('a group of a thousand gets all the roles that its name is mapped to', async () => {
  const owner = await account.as('owner');
  for (let i = 0; i < 12; i++) {
    const { id } = await make(api, account, '/roles', { name: `Role ${i}`, permission_keys: ['hierarchy.view'] });
    const mapped = await api.app.inject({
      method: 'POST',
      url: `/portal/v1/accounts/${account.accountSlug}/scim/group-mappings`,
      headers: owner,
      payload: { environment_id: account.scope.environmentId, scim_group: 'Everybody', role_id: id },
    });
    expect(mapped.statusCode).toBe(201);
  }
  await newGroup('Everybody', max);
  const [held] = await rowsOf<{ count: number }>(
    api,
    'select count(*)::int from role_assignments where environment_id = $1 and removed_at is null',
    [account.scope.environmentId],
  );
  expect(held).toEqual({ count: 12 * max });
});

test('a present holder of a role is not read for each one that a mapped group gives it to', async () => {
  await newGroup('Mapped', max);
  const role = await make(api, account, '/roles', { name: 'Mapped', permission_keys: ['hierarchy.view'] });
  const { accountId, applicationId, environmentId: environment_id } = account.scope;
  const root = await rowsOf<{ id: string }>(
    api,
    "select id from nodes where environment_id = $1 and node_type = 'root'",
    [environment_id],
  );
  await rowsOf(
    api,
    `with others as (
       insert into roles (id, account_id, application_id, environment_id, name, is_active, version, created_at, updated_at)
       select gen_random_uuid(), $1, $6, $2, 'Other ' || n, true, 1, now(), now() from generate_series(1, 1000) n returning id)
     insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
     select gen_random_uuid(), $1::uuid, $2::uuid, identity_id, $3::uuid, $4::uuid, now() from unnest($5::uuid[]) identity_id
     union all select gen_random_uuid(), $1::uuid, $2::uuid, ($5::uuid[])[n], id, $4::uuid, now() from others, generate_series(1, 50) n`,
    [accountId, environment_id, role.id, root[0]?.id, (await people(max)).map(({ value }) => value), applicationId],
  );
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const portal = callsOf(api, account.accountSlug, await account.as('owner'));
  const mapping = { environment_id, scim_group: 'Mapped', role_id: role.id, node_id: root[0]?.id };
  expect(outcomeOf(await portal('POST', '/scim/group-mappings', mapping))).toBe('201');
  const asked = query.mock.calls
    .map((call) => call as unknown[])
    .map(([one, values]) =>
      typeof one === 'string' ? { text: one, values } : (one as { text: string; values: unknown }),
    );
  query.mockRestore();
  const free = asked.find(({ text }) => text.includes('tstzmultirange'));
  await rowsOf(api, 'analyze role_assignments');
  const plan = await api.database.db.transaction(account.scope, async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    for (const way of ['indexscan', 'seqscan']) await tx.query(`set local enable_${way} = off`); // as with many rows
    await tx.query(`prepare explained as ${free?.text}`);
    const plans = await tx.query('explain (format json) execute explained (null, null, null, null, null, null)');
    await tx.query('deallocate explained');
    return JSON.stringify(plans);
  });
  expect(plan).toMatch(/"Index Name":"role_assignments_/);
  expect(plan).not.toContain('role_assignments_held_of_role');
});
