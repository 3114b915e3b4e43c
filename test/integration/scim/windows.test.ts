import { outcomeOf } from '../../support/answers.js';
import { send } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { callsWith } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';
import { newGroup, newUser, operations, scimOutcome, startDirectory } from '../../support/scim.js';
import { comingUpon } from '../../support/uncommitted.js';

const { api, account, call } = await startDirectory();
afterAll(() => api.stop());

/** In days from now; null is unbounded. */
type Window = [from: number | null, to: number | null];
const dayMs = 86_400_000;
const after = (days: number) => new Date(api.clock.now.getTime() + days * dayMs);
const boundsOf = ([from, to]: Window) => ({
  effective_from: from === null ? null : after(from).toISOString(),
  effective_to: to === null ? null : after(to).toISOString(),
});
const key = async () => callsWith(api, await account.apiKey());

let mapped = 0;
/** Creates a group with its own role at the root. */
async function mappedGroup(...memberIds: string[]): Promise<{ group: string; role: string }> {
  const name = `Group ${++mapped}`;
  const made = await (await key())('POST', '/roles', { name, permission_keys: ['hierarchy.view'] });
  const body = { environment_id: account.scope.environmentId, scim_group: name, role_id: made.json().data.id };
  const portal = callsOf(api, account.accountSlug, await account.as('owner'));
  expect(outcomeOf(await portal('POST', '/scim/group-mappings', body))).toBe('201');
  return { group: await newGroup(call, name, ...memberIds), role: body.role_id };
}

async function giveByHand(identityId: string, role_id: string, window: Window): Promise<string> {
  const body = { role_id, ...boundsOf(window) };
  const answer = await (await key())('POST', `/identities/${identityId}/role-assignments`, body);
  expect(outcomeOf(answer)).toBe('201');
  return answer.json().data.assignment_id;
}
const takeByHand = async (identityId: string, assignmentId: string) =>
  outcomeOf(await (await key())('DELETE', `/identities/${identityId}/role-assignments/${assignmentId}`));

const patch = (group: string, operation: object) => call('PATCH', `/Groups/${group}`, operations(operation));
const add = (group: string, ...ids: string[]) =>
  patch(group, { op: 'add', path: 'members', value: ids.map((value) => ({ value })) });
const remove = (group: string, id: string) => patch(group, { op: 'remove', path: `members[value eq "${id}"]` });

/** Returns the assignments by which a person holds a role: window, who assigned it, and whether it sends notices. */
async function heldAs(identityId: string, roleId: string): Promise<string[]> {
  const rows = await rowsOf<{ from: Date | null; to: Date | null; by: string; is_told: boolean }>(
    api,
    `select a.effective_from as "from", a.effective_to as "to", w.status is not null as is_told,
       case when s.assignment_id is null then 'hand' else 'group' end as by
     from role_assignments a left join scim_assignments s on s.assignment_id = a.id
       left join role_assignment_windows w on w.id = a.id and w.status = 'running'
     where a.identity_id = $1 and a.role_id = $2 and a.removed_at is null order by a.effective_from nulls first`,
    [identityId, roleId],
  );
  const days = (date: Date | null) => (date === null ? '' : (date.getTime() - api.clock.now.getTime()) / dayMs);
  return rows.map(({ from, to, by, is_told }) => `${by} ${days(from)}..${days(to)}${is_told ? ' told' : ''}`);
}

/** Whether the mapped role applies in so many days from now. */
async function countsAfter(identity_id: string, days: number): Promise<boolean> {
  const answer = await send(api.app, 200, {
    method: 'POST',
    url: '/api/v1/authorization/evaluate',
    headers: await account.apiKey(),
    payload: { identity_id, permission: 'hierarchy.view', as_of: after(days).toISOString() },
  });
  return answer.json().data.allowed;
}

const cases: { what: string; byHand: Window[]; held: string[] }[] = [
  { what: 'nothing', byHand: [], held: ['group ..'] },
  { what: 'a window to come', byHand: [[30, null]], held: ['group ..30 told', 'hand 30.. told'] },
  { what: 'a window that ends', byHand: [[null, 7]], held: ['hand ..7 told', 'group 7.. told'] },
  {
    what: 'a window to come that ends',
    byHand: [[30, 40]],
    held: ['group ..30 told', 'hand 30..40 told', 'group 40.. told'],
  },
  {
    what: 'windows with and without time between them',
    byHand: [
      [null, 1],
      [3, 5],
      [5, 6],
      [8, 9],
    ],
    held: [
      'hand ..1 told',
      'group 1..3 told',
      'hand 3..5 told',
      'hand 5..6 told',
      'group 6..8 told',
      'hand 8..9 told',
      'group 9.. told',
    ],
  },
];
test.each(cases)('besides $what by hand, a group gives its role for the rest of the time', async ({ byHand, held }) => {
  const user = await newUser(call);
  const { group, role } = await mappedGroup();
  for (const window of byHand) await giveByHand(user.id, role, window);
  const before = await heldAs(user.id, role);
  expect(scimOutcome(await add(group, user.id))).toBe('204');
  expect(await heldAs(user.id, role)).toEqual(held);
  for (const days of [0, 0.5, 1, 2, 3, 4, 5, 5.5, 6, 7, 8, 8.5, 9, 29, 30, 35, 40, 4_000])
    expect(await countsAfter(user.id, days)).toBe(true);
  // An intact assignment is not given again.
  await patch(group, { op: 'replace', path: 'displayName', value: `group ${mapped}` });
  expect(await heldAs(user.id, role)).toEqual(held);
  // And removes only what it gave.
  expect(scimOutcome(await remove(group, user.id))).toBe('204');
  expect(await heldAs(user.id, role)).toEqual(before);
});

test('after a window that has ended, a group gives its role from now on', async () => {
  const user = await newUser(call);
  const { group, role } = await mappedGroup();
  await giveByHand(user.id, role, [null, 1 / dayMs]);
  api.clock.advance(1_001);
  await add(group, user.id);
  expect((await heldAs(user.id, role)).slice(1)).toEqual(['group 0..']);
  await patch(group, { op: 'replace', path: 'displayName', value: `group ${mapped}` });
  expect(await heldAs(user.id, role)).toHaveLength(2);
});

test('a window that is removed by hand leaves a gap that the group’s next change fills', async () => {
  const [user, other] = [await newUser(call), await newUser(call)];
  const { group, role } = await mappedGroup();
  const byHand = await giveByHand(user.id, role, [30, 40]);
  await add(group, user.id);
  expect(await takeByHand(user.id, byHand)).toBe('204');
  expect(await countsAfter(user.id, 35)).toBe(false);
  await call('PUT', `/Groups/${group}`, {
    displayName: `GROUP ${mapped}`,
    members: [user, other].map(({ id }) => ({ value: id })),
  });
  expect(await heldAs(user.id, role)).toEqual(['group ..30 told', 'group 30..40 told', 'group 40.. told']);
  expect(await heldAs(other.id, role)).toEqual(['group ..']);
  await call('DELETE', `/Groups/${group}`);
  expect(await heldAs(user.id, role)).toEqual([]);
});

test('a window that is assigned by hand at the same moment is left out of the group’s', async () => {
  const [user, other] = [await newUser(call), await newUser(call)];
  const { group, role } = await mappedGroup();
  const { accountId, environmentId } = account.scope;
  const change = await comingUpon(
    api.database,
    (tx) =>
      tx.query(
        `insert into role_assignments (id, account_id, environment_id, identity_id, role_id, node_id, effective_from, notify_holder,
           created_at)
         select gen_random_uuid(), $1, $2, $3, $4, id, $5, false, $6 from nodes where environment_id = $2 and node_type = 'root'`,
        [accountId, environmentId, user.id, role, after(30), api.clock.now],
      ),
    () => add(group, user.id, other.id),
  );
  expect(scimOutcome(change)).toBe('204');
  expect(await heldAs(user.id, role)).toEqual(['group ..30 told', 'hand 30..']);
  expect(await heldAs(other.id, role)).toEqual(['group ..']);
});

test('a mapping gives a role around the windows of each member, and a role that is mapped instead replaces all of it', async () => {
  const [plain, windowed] = [await newUser(call), await newUser(call)];
  const name = `Group ${++mapped}`;
  await newGroup(call, name, plain.id, windowed.id);
  const role = async (at: string) =>
    (await (await key())('POST', '/roles', { name: `${name} ${at}`, permission_keys: [] })).json().data.id as string;
  const [first, second] = [await role('first'), await role('second')];
  await giveByHand(windowed.id, first, [2, 3]);
  const portal = callsOf(api, account.accountSlug, await account.as('owner'));
  const body = { environment_id: account.scope.environmentId, scim_group: name, role_id: first };
  const { id } = (await portal('POST', '/scim/group-mappings', body)).json().data;
  expect(await heldAs(plain.id, first)).toEqual(['group ..']);
  expect(await heldAs(windowed.id, first)).toEqual(['group ..2 told', 'hand 2..3 told', 'group 3.. told']);
  expect(outcomeOf(await portal('PATCH', `/scim/group-mappings/${id}`, { role_id: second }))).toBe('200');
  expect(await heldAs(plain.id, first)).toEqual([]);
  expect(await heldAs(windowed.id, first)).toEqual(['hand 2..3 told']);
  expect(await heldAs(windowed.id, second)).toEqual(['group ..']);
  const told = await rowsOf(api, 'select action from events where resource_id = $1 order by id', [id]);
  expect(told).toEqual([{ action: 'scim_group_mapping.created' }, { action: 'scim_group_mapping.updated' }]);
});
