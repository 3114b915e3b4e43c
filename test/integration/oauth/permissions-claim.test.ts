import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { newProvider } from '../../support/oauth/provider.js';
import { refresh, tokensFor } from '../../support/oauth/tokens.js';
import { newOrganization } from '../../support/organizations.js';

const world = await newProvider();
const environment = await world.newEnvironment();
afterAll(() => world.close());

/** Creates a person with permissions at the Environment's root, in organizations with long names. */
async function newHolder(keys: readonly string[], organizations: number) {
  const ana = await environment.newIdentity();
  const name = 'A name as long as one may well be, in letters of more than a byte: Ä, ß, ø';
  for (let i = 0; i <= organizations; i++)
    await newOrganization(world, environment, { name, slug: `o-${uuidv7()}-${i}`, members: i > 0 ? [ana] : [] });
  const { accountId, applicationId, environmentId } = environment;
  const [scope, at, role] = [[accountId, applicationId, environmentId], world.now(), uuidv7()];
  const everything = `insert into roles (id, account_id, application_id, environment_id, name, is_active, version, created_at, updated_at)
    values ($4::uuid, $1, $2, $3, $4::uuid::text, true, 1, $5, $5)`;
  await world.query(everything, [...scope, role, at]);
  await world.query(
    `with made as (
       insert into permissions (id, account_id, application_id, environment_id, key, name, category, source, version, created_at)
       select gen_random_uuid(), $1, $2, $3, key, key, 'custom', 'custom', 1, $5 from unnest($6::text[]) key
       on conflict (environment_id, key) do update set version = 1 returning id
     )
     insert into role_permissions (role_id, permission_id, account_id, environment_id) select $4, id, $1, $3 from made`,
    [...scope, role, at, keys],
  );
  await world.query(
    `insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, created_at)
     select gen_random_uuid(), $1, $2, $3, $4, id, $5 from nodes where environment_id = $2 and parent_node_id is null`,
    [accountId, environmentId, ana.id, role, at],
  );
  return ana;
}
const keys = Array.from({ length: 600 }, (_, i) => `warehouse_section_${String(i).padStart(3, '0')}.approve`);
/** The usual limit of servers for one header. */
const room = 8192 - 'authorization: Bearer \r\n'.length;

test('a token lists as many permissions as it has room for, by key, says if there are more, and fits a header', async () => {
  const ana = await newHolder(keys, 0);
  const client = await environment.newClient();
  const tokens = await tokensFor(world.browser(), client, ana.email, { scope: 'openid permissions' });
  for (const { access_token: token } of [tokens, (await refresh(world.app, client, tokens.refresh_token)).json()]) {
    const { permissions, ...claims } = decodeJwt<{ permissions: string[] }>(token);
    expect(claims.permissions_truncated).toBe(true);
    expect(permissions).toEqual(keys.slice(0, permissions.length));
    expect(permissions.length).toBeGreaterThan(100);
    expect(token.length).toBeLessThan(room);
  }
  expect(decodeJwt(tokens.id_token)).not.toHaveProperty('permissions_truncated');
});

test('the list fits beside the organizations, too, and a person with few permissions is not told of more', async () => {
  const scope = 'openid profile email org permissions';
  const client = await environment.newClient();
  const ana = await newHolder(keys, 30);
  const { access_token: token } = await tokensFor(world.browser(), client, ana.email, { scope });
  const claims = decodeJwt<Record<'permissions' | 'organizations', unknown[]>>(token);
  expect(claims).toMatchObject({ organizations_truncated: true, permissions_truncated: true });
  for (const claim of ['organizations', 'permissions'] as const) expect(claims[claim].length).toBeGreaterThan(10);
  expect(token.length).toBeLessThan(room);

  const ben = await newHolder(['invoice.view'], 1);
  const few = decodeJwt((await tokensFor(world.browser(), client, ben.email, { scope })).access_token);
  expect(few).toMatchObject({ permissions: ['invoice.view'], organizations: [{}] });
  expect(few).not.toHaveProperty('permissions_truncated');
});

test('the list has what is in force now: no disabled role, no inactive root, no window that is over', async () => {
  const ana = await newHolder(['invoice.view'], 0);
  const client = await environment.newClient();
  let tokens = await tokensFor(world.browser(), client, ana.email, { scope: 'openid permissions' });
  const named = async () => {
    tokens = (await refresh(world.app, client, tokens.refresh_token)).json();
    return decodeJwt<{ permissions: string[] }>(tokens.access_token).permissions;
  };
  const ofAna = 'from role_assignments a where a.identity_id = $1';
  const changes: [string, [off: unknown, on: unknown]][] = [
    [`update roles set is_active = $2 where id in (select a.role_id ${ofAna})`, [false, true]],
    [`update nodes set status = $2 where id in (select a.node_id ${ofAna})`, ['inactive', 'active']],
    ['update role_assignments set effective_to = $2 where identity_id = $1', [world.now(), null]],
  ];
  for (const [statement, [off, on]] of changes) {
    await world.query(statement, [ana.id, off]);
    expect([statement, await named()]).toEqual([statement, []]);
    await world.query(statement, [ana.id, on]);
    expect([statement, await named()]).toEqual([statement, ['invoice.view']]);
  }
});
