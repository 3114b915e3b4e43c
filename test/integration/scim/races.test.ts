import { randomUUID } from 'node:crypto';
import { removeSubtrees } from '../../../src/domain/hierarchy/removal.js';
import { setActive } from '../../../src/domain/identities/activation.js';
import { changeIdentity } from '../../../src/domain/identities/change.js';
import { outcomeOf } from '../../support/answers.js';
import { newRole } from '../../support/api-organizations.js';
import { callsOf } from '../../support/calls.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { callsWith, newNode } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';
import { anAddress, make, newDirectory, newUser, operations, startDirectory } from '../../support/scim.js';
import { comingUpon } from '../../support/uncommitted.js';

/** Changes of a person while their directory changes them: the directory sees the first change, and is judged by it. */

const { api, account, call: directory } = await startDirectory();
afterAll(() => api.stop());

const set = (id: string, path: string, value: unknown) =>
  directory('PATCH', `/Users/${id}`, operations({ op: 'replace', path, value }));
const personOf = async (id: string) =>
  (
    await rowsOf<{ email: string; first_name: string }>(api, 'select email, first_name from identities where id = $1', [
      id,
    ])
  )[0];

test('a simultaneous change stays if the directory does not mention the field', async () => {
  const user = await newUser(directory, { name: { givenName: 'Ana', familyName: 'Arendt' } });
  const email = anAddress();
  const answer = await comingUpon(
    api.database,
    (tx) => changeIdentity(tx, account.scope, user.id, { email, firstName: 'Anna' }, api.clock.now),
    () => set(user.id, 'title', 'Engineer'),
  );
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({ title: 'Engineer', name: { givenName: 'Anna' } });
  expect(await personOf(user.id)).toEqual({ email, first_name: 'Anna' });
});

test('a version that was read before the change is refused', async () => {
  const user = await newUser(directory);
  const answer = await comingUpon(
    api.database,
    (tx) => changeIdentity(tx, account.scope, user.id, { firstName: 'Anna' }, api.clock.now),
    () =>
      directory('PATCH', `/Users/${user.id}`, operations({ op: 'replace', path: 'title', value: 'Engineer' }), {
        'if-match': user.meta.version,
      }),
  );
  expect([answer.statusCode, answer.json().title]).toEqual([412, undefined]);
});

test('a person whom an administrator keeps out meanwhile is not let in by an organization’s directory', async () => {
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const environment = `/applications/${account.applicationSlug}/environments/development`;
  const made = await owner('POST', `${environment}/organizations`, { name: `Kept out ${randomUUID()}` });
  const own = await newDirectory(api, account, made.json().data.id);
  const user = await newUser(own);
  const say = (value: boolean) =>
    own('PATCH', `/Users/${user.id}`, operations({ op: 'replace', path: 'active', value }));
  expect((await say(false)).statusCode).toBe(200);
  // As `deactivate` does, which keeps them out for another reason than the directory's.
  const answer = await comingUpon(
    api.database,
    async (tx) => {
      await tx.query('select from identities where id = $1 for update', [user.id]);
      await tx.query('update scim_users set is_suspended = false where identity_id = $1', [user.id]);
    },
    () => say(true),
  );
  expect(answer.statusCode).toBe(403);
  const [membership] = await rowsOf(api, 'select is_active from environment_memberships where identity_id = $1', [
    user.id,
  ]);
  expect(membership).toEqual({ is_active: false });
  expect(outcomeOf(await owner('POST', `${environment}/identities/${user.id}/activate`))).toBe('200');
});

test('a person whom an administrator keeps out while their directory’s organization is deleted is not kept out by the directory', async () => {
  const key = callsWith(api, await account.apiKey());
  const { scope } = account;
  const keptOut = async () => {
    const { id: organization } = await make(api, account, '/organizations', { name: `Insolvent ${randomUUID()}` });
    const own = await newDirectory(api, account, organization);
    const { id } = await newUser(own);
    const answer = await own('PATCH', `/Users/${id}`, operations({ op: 'replace', path: 'active', value: false }));
    expect(answer.statusCode).toBe(200);
    const { version } = (await key('GET', `/organizations/${organization}`)).json().data;
    return { organization, id, version };
  };
  const at = api.clock.now;
  const first = await keptOut();
  const removed = await comingUpon(
    api.database,
    (tx) => setActive(tx, scope, first.id, { isActive: false, at }),
    () => key('DELETE', `/organizations/${first.organization}`, undefined, first.version),
  );
  expect(outcomeOf(removed)).toBe('204');
  const second = await keptOut();
  const deactivated = await comingUpon(
    api.database,
    (tx) => removeSubtrees(tx, scope, [second.organization], at),
    () => key('POST', `/identities/${second.id}/deactivate`),
  );
  expect(outcomeOf(deactivated)).toBe('200');
  const kept = 'select is_active, kept_out_by from environment_memberships where identity_id = any($1)';
  const isOut = { is_active: false, kept_out_by: null };
  expect(await rowsOf(api, kept, [[first.id, second.id]])).toEqual([isOut, isOut]);
});

test('a mapping whose node is deleted at any moment of its own deletion has one deletion event', async () => {
  const owner = callsOf(api, account.accountSlug, await account.as('owner'));
  const key = callsWith(api, await account.apiKey());
  const role_id = await newRole(key, `Role ${randomUUID()}`, []);
  const setUp = async () => {
    const { id: node_id } = await newNode(key, 'Ward', null);
    const mapping = { environment_id: account.scope.environmentId, scim_group: randomUUID(), role_id, node_id };
    const { id } = (await owner('POST', '/scim/group-mappings', mapping)).json().data;
    return {
      id,
      removeNode: async () => outcomeOf(await key('DELETE', `/nodes/${node_id}`, undefined, 1)),
      removeMapping: async () => outcomeOf(await owner('DELETE', `/scim/group-mappings/${id}`)),
    };
  };
  const alone = await setUp();
  const { statements } = await counted(alone.removeNode);
  const came = new Set<string>();
  for (let at = 1; at <= statements; at++) {
    const { id, removeNode, removeMapping } = await setUp();
    const [removed, mapping] = await interleaved(api.database.ownerUrl, at, removeNode, removeMapping);
    came.add(mapping);
    const told = "select from events where resource_id = $1 and action = 'scim_group_mapping.deleted'";
    expect([at, removed, (await rowsOf(api, told, [id])).length]).toEqual([at, '204', 1]);
  }
  expect([...came].sort()).toEqual(['204', '404 scim_group_mapping.not_found']);
});
