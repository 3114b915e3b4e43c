import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { rowsOf } from './portal-setup.js';
import { anAddress, make, newDirectory, operations, type ScimCall, scimOutcome } from './scim-setup.js';

/** As many members and operations as one request may have (docs/scim.md), with all that clients send of each. */
const most = 1000;

let api: TestApi;
let account: TestAccount;
let call: ScimCall;
let members: { value: string }[];
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  call = await newDirectory(api, account);
  members = await people(most + 1);
});
afterAll(() => api.stop());

/** Users of the Environment's directory, who are made in one statement. */
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
     from identities where account_id = $2`,
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
  'a thousand members are made and put as they were read, as %s',
  async (type) => {
    const typed = { 'content-type': type };
    const made = await call('POST', '/Groups', { displayName: type, members: members.slice(0, most) }, typed);
    expect(scimOutcome(made)).toBe('201');
    const read = (await call('GET', `/Groups/${made.json().id}`)).json();
    expect(read.members[0]).toHaveProperty('$ref');
    const named = {
      ...read,
      members: read.members.map((member: object) => ({ ...member, display: 'Ada, "the" [first]' })),
    };
    expect(scimOutcome(await call('PUT', `/Groups/${read.id}`, named, typed))).toBe('200');
    expect(await sizeOf(read.id)).toBe(most);
  },
);

test('a thousand members are added in one operation and removed in as many', async () => {
  const id = await newGroup('one by one');
  const shown = members.slice(0, most).map((member) => ({ ...member, display: 'Ada', type: 'User' }));
  expect(
    scimOutcome(await call('PATCH', `/Groups/${id}`, operations({ op: 'add', path: 'members', value: shown }))),
  ).toMatch(/^20/);
  expect(await sizeOf(id)).toBe(most);
  const each = shown.map((member) => ({ op: 'remove', path: 'members', value: [member] }));
  expect(scimOutcome(await call('PATCH', `/Groups/${id}`, operations(...each)))).toMatch(/^20/);
  expect(await sizeOf(id)).toBe(0);
});

test('one more is refused by number, and far more are not read', async () => {
  const one = await call('POST', '/Groups', { displayName: 'one more', members });
  expect([scimOutcome(one), one.json().detail]).toEqual([
    '400 invalidValue',
    expect.stringContaining('more than 1000'),
  ]);
  const far = await call('POST', '/Groups', { displayName: 'far more', members: Array(4 * most).fill({}) });
  expect([scimOutcome(far), far.json().detail]).toEqual(['400 invalidValue', expect.stringContaining('far more')]);
});

test('a group of a thousand takes all the roles that its name stands for', async () => {
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
  await newGroup('Everybody', most);
  const [held] = await rowsOf<{ count: number }>(
    api,
    'select count(*)::int from role_assignments where environment_id = $1 and removed_at is null',
    [account.scope.environmentId],
  );
  expect(held).toEqual({ count: 12 * most });
});
