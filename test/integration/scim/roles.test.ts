import type { LightMyRequestResponse } from 'fastify';
import { changeNode } from '../../../src/domain/hierarchy/changes.js';
import { removeMember } from '../../../src/domain/identities/remove.js';
import { withdrawFromMember } from '../../../src/domain/identity-invites/issue.js';
import { createMemberships } from '../../../src/domain/organizations/memberships.js';
import { lockDirectory } from '../../../src/domain/scim-roles/directories.js';
import { dbWithin } from '../../../src/platform/database/db-within.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { callsOf } from '../../support/calls.js';
import { endedByDeadlock } from '../../support/deadlock.js';
import { linkTokenOf } from '../../support/identity-invites.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { callsWith } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';
import { heldBy, make, newDirectory, newGroup, newUser, operations, type ScimCall } from '../../support/scim.js';
import { comingUpon } from '../../support/uncommitted.js';

let api: TestApi;
let account: TestAccount;
let key: ReturnType<typeof callsWith>;
let portal: ReturnType<typeof callsOf>;
let organization: string;
let own: ScimCall;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  portal = callsOf(api, account.accountSlug, await account.as('owner'));
});
beforeEach(async () => {
  organization = (await make(api, account, '/organizations', { name: 'Customer' })).id;
  own = await newDirectory(api, account, organization);
});
afterAll(() => api.stop());

let roles = 0;
/** Maps a group of the organization's directory (null: the Environment's) to a new role at a node; returns it as `heldBy` does. */
async function map(scimGroup: string, nodeId: string, within: string | null = organization) {
  const payload = { name: `R ${++roles}`, permission_keys: ['hierarchy.view'] };
  const { id: roleId } = await make(api, account, '/roles', payload);
  const { environmentId: environment_id } = account.scope;
  const mapping = { environment_id, organization_id: within, scim_group: scimGroup, role_id: roleId };
  const made = await portal('POST', '/scim/group-mappings', { ...mapping, node_id: nodeId });
  expect(outcomeOf(made)).toBe('201');
  return { id: made.json().data.id as string, held: `${roleId} ${nodeId}` };
}

test('a list of mappings is filtered by the group’s name, or by that of the group with the mapped id', async () => {
  const { id: byName } = await map('Engineers 100%', organization);
  const group = await newGroup(own, 'Night watch');
  const { id: byId } = await map(group, organization);
  const found = async (q: string) => {
    const { items } = (await portal('GET', `/scim/group-mappings?q=${encodeURIComponent(q)}`)).json();
    return items.map(({ id }: { id: string }) => id).filter((id: string) => [byName, byId].includes(id));
  };
  expect(await found('engineers 100%')).toEqual([byName]);
  expect(await found('watch')).toEqual([byId]);
  expect(await found('_ight')).toEqual([]);
  expect(await found('nothing that there is')).toEqual([]);
});

test('a group gives its role in spite of a present one, also once that was removed by hand: the group assigns it again', async () => {
  const { held } = await map('Stewards', organization);
  const { id } = await newUser(own);
  const group = await newGroup(own, 'Stewards', id);
  const helper = callsWith(api, await account.apiKey(['identity.manage', 'rbac.assign_roles']));
  const setPassword = async () =>
    outcomeOf(await helper('PUT', `/identities/${id}/password`, { password: 'violet tractor 19' }));
  const [{ assignment_id }] = (await key('GET', `/identities/${id}/role-assignments`)).json().items;
  expect(outcomeOf(await helper('DELETE', `/identities/${id}/role-assignments/${assignment_id}`))).toBe('204');
  expect(await heldBy(api, id)).toEqual([]);
  expect(await setPassword()).toBe('403 identity.holds_more');
  const { id: other } = await newUser(own);
  const members = (...ids: string[]) =>
    operations({ op: 'replace', path: 'members', value: ids.map((value) => ({ value })) });
  await own('PATCH', `/Groups/${group}`, members(other));
  expect(await setPassword()).toBe('200');
  await own('PATCH', `/Groups/${group}`, members(other, id));
  expect(await heldBy(api, id)).toEqual([held]);
});

test('a role that somebody assigns by hand while a group grants it stays when the person leaves the group', async () => {
  const { held } = await map('Engineers', organization);
  const [role_id, node_id] = held.split(' ');
  const [one, many, other, invited] = [await newUser(own), await newUser(own), await newUser(own), await newUser(own)];
  const members = [one, many, other, invited].map(({ id }) => id);
  expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${invited.id}`))).toBe('204');
  const invitation = await make(api, account, `/organizations/${organization}/invitations`, {
    email: invited.userName,
    role_ids: [role_id],
  });
  expect(outcomeOf(await key('POST', `/organizations/${organization}/members`, { identity_id: invited.id }))).toBe(
    '201',
  );
  const group = await newGroup(own, 'Engineers', ...members);
  const byHand = { role_id, node_id };
  expect(outcomeOf(await key('POST', `/identities/${one.id}/role-assignments`, byHand))).toBe('200');
  const bulk = await key('POST', '/role-assignments', { role_assignments: [{ ...byHand, identity_id: many.id }] });
  expect(bulk.json().items[0].status).toBe('exists');
  const payload = { token: linkTokenOf(invitation.id), password: 'violet tractor 19' };
  const accepted = await api.app.inject({ method: 'POST', url: '/v1/identity/auth/accept-invite', payload });
  expect(outcomeOf(accepted)).toBe('200');
  expect((await own('DELETE', `/Groups/${group}`)).statusCode).toBe(204);
  expect(await Promise.all(members.map((id) => heldBy(api, id)))).toEqual([[held], [held], [], [held]]);
});

test('a role that is assigned by hand at any moment of the end of its group stays', async () => {
  const { held } = await map('Engineers', organization);
  const [role_id, node_id] = held.split(' ');
  const { id } = await newUser(own);
  const setUp = async () => {
    const group = await newGroup(own, 'Engineers', id);
    return async () => (await own('DELETE', `/Groups/${group}`)).statusCode;
  };
  const { statements } = await counted(await setUp());
  const came = new Set<string>();
  for (let at = 1; at <= statements; at++) {
    const assign = async () => outcomeOf(await key('POST', `/identities/${id}/role-assignments`, { role_id, node_id }));
    const [removed, assigned] = await interleaved(api.database.ownerUrl, at, await setUp(), assign);
    came.add(assigned);
    expect([at, removed, await heldBy(api, id)]).toEqual([at, 204, [held]]);
    const [one] = (await key('GET', `/identities/${id}/role-assignments`)).json().items;
    expect(outcomeOf(await key('DELETE', `/identities/${id}/role-assignments/${one.assignment_id}`))).toBe('204');
  }
  expect([...came].sort()).toEqual(['200', '201']);
});

test('a role with which somebody joins an organization at any moment of the end of a group that grants it stays', async () => {
  const everyone = await newDirectory(api, account);
  const { held } = await map('Everyone', organization, null);
  const { id } = await newUser(everyone);
  const setUp = async () => {
    const group = await newGroup(everyone, 'Everyone', id);
    return async () => (await everyone('DELETE', `/Groups/${group}`)).statusCode;
  };
  const { statements } = await counted(await setUp());
  const member = `/organizations/${organization}/members`;
  for (let at = 1; at <= statements; at++) {
    const join = async () => outcomeOf(await key('POST', member, { identity_id: id, role_ids: [held.split(' ')[0]] }));
    const [removed, joined] = await interleaved(api.database.ownerUrl, at, await setUp(), join);
    expect([at, removed, joined, await heldBy(api, id)]).toEqual([at, 204, '201', [held]]);
    expect(outcomeOf(await key('DELETE', `${member}/${id}`))).toBe('204');
  }
});

test('the end of a group does not lock what the deletion of a node needs that has locked the group’s roles', async () => {
  await map('Engineers', organization);
  const { id } = await newUser(own);
  const group = await newGroup(own, 'Engineers', id);
  const ended = await comingUpon(
    api.database,
    (tx) => tx.query('select from role_assignments where identity_id = $1 for update', [id]),
    () => own('DELETE', `/Groups/${group}`),
    {
      async last(tx) {
        await tx.query("set local lock_timeout = '200ms'");
        await tx.query('delete from role_assignments where identity_id = $1', [id]);
      },
    },
  );
  expect(ended.statusCode).toBe(204);
});

test('a group that is mapped to nothing keeps nobody from setting its members’ passwords, whatever others give', async () => {
  const { id: elsewhere } = await make(api, account, '/organizations', { name: 'Other customer' });
  await map('Night watch', elsewhere, elsewhere);
  await map('Stewards', organization);
  const { id } = await newUser(own);
  await newGroup(own, 'Night watch', id);
  const helper = callsWith(api, await account.apiKey(['identity.manage']));
  const answer = await helper('PUT', `/identities/${id}/password`, { password: 'violet tractor 19' });
  expect(outcomeOf(answer)).toBe('200');
});

test('a person who returns to the organization holds what their groups give', async () => {
  const { held } = await map('Engineers', organization);
  const { id, userName } = await newUser(own);
  await newGroup(own, 'Engineers', id);
  const leave = async () => {
    expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${id}`))).toBe('204');
    expect(await heldBy(api, id)).toEqual([]);
  };
  await leave();
  expect(outcomeOf(await key('POST', `/organizations/${organization}/members`, { identity_id: id }))).toBe('201');
  expect(await heldBy(api, id)).toEqual([held]);
  // A role that is assigned by hand at the same time stays when the groups are removed.
  await leave();
  const by = { identity_id: id, role_ids: [held.split(' ')[0]] };
  expect(outcomeOf(await key('POST', `/organizations/${organization}/members`, by))).toBe('201');
  expect(await heldBy(api, id)).toEqual([held]);
  expect((await own('PATCH', `/Users/${id}`, operations({ op: 'add', path: 'title', value: 'T' }))).statusCode).toBe(
    200,
  );
  expect(userName).toBeDefined();
});

test('a person who returns by an invite while a change of their directory adds them as well is let in', async () => {
  const accepted = await endedByDeadlock<LightMyRequestResponse>(api.database, async () => {
    const { id, userName } = await newUser(own);
    expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${id}`))).toBe('204');
    const invitation = await make(api, account, `/organizations/${organization}/invitations`, { email: userName });
    const payload = { token: linkTokenOf(invitation.id), password: 'violet tractor 19' };
    return {
      first: (tx) => lockDirectory(tx, organization),
      other: async () => api.app.inject({ method: 'POST', url: '/v1/identity/auth/accept-invite', payload }),
      second: (tx) => tx.query('select from identities where id = $1 for key share', [id]),
    };
  });
  expect(outcomeOf(accepted)).toBe('200');
});

test('a mapping of a group is deleted with the group, with its event', async () => {
  const { id: userId } = await newUser(own);
  const group = await newGroup(own, 'Mapped', userId);
  const { id, held } = await map(group, organization);
  expect(await heldBy(api, userId)).toEqual([held]);
  expect((await own('DELETE', `/Groups/${group}`)).statusCode).toBe(204);
  expect(outcomeOf(await portal('GET', `/scim/group-mappings/${id}`))).toBe('404 scim_group_mapping.not_found');
  expect(await heldBy(api, userId)).toEqual([]);
  const told = 'select action from events where resource_id = $1 and is_domain_event order by created_at, id';
  expect(await rowsOf(api, told, [id])).toEqual([
    { action: 'scim_group_mapping.created' },
    { action: 'scim_group_mapping.deleted' },
  ]);
});

test('a person who is removed from the organization while a group adds them gets nothing from it', async () => {
  const { id } = await newUser(own);
  const group = await newGroup(own, 'Pushed');
  await map(group, organization);
  await comingUpon(
    api.database,
    (tx) => {
      const { assignments } = api.services;
      const members = createMemberships({
        db: dbWithin(tx),
        assignments,
        endInvitations: withdrawFromMember,
        now: () => api.clock.now,
      });
      return members.remove(account.scope, { organizationId: organization, identityId: id });
    },
    () => own('PATCH', `/Groups/${group}`, operations({ op: 'add', path: 'members', value: [{ value: id }] })),
  );
  expect(await heldBy(api, id)).toEqual([]);
});

test('a person who is removed from the environment while their group is mapped to a role does not have it on their return', async () => {
  const everyone = await newDirectory(api, account);
  const { id, userName } = await newUser(everyone);
  const group = await newGroup(everyone, 'Everyone', id);
  const { environmentId: environment_id, accountId } = account.scope;
  const other = account.productionScope.environmentId;
  const join = `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at)
    values (gen_random_uuid(), $1, $2, $3, true, now())`;
  await rowsOf(api, join, [accountId, other, id]); // so that the Identity stays
  const { id: role_id } = await make(api, account, '/roles', {
    name: `R ${++roles}`,
    permission_keys: ['hierarchy.view'],
  });
  const made = await comingUpon(
    api.database,
    (tx) => removeMember(tx, account.scope, id, () => api.clock.now),
    () => portal('POST', '/scim/group-mappings', { environment_id, scim_group: group, role_id }),
  );
  expect(outcomeOf(made)).toBe('201');
  expect(await heldBy(api, id)).toEqual([]);
  expect(outcomeOf(await key('POST', '/identities', { email: userName }))).toBe('201');
  expect(await heldBy(api, id)).toEqual([]);
});

describe('at a node that is moved out of the organization', () => {
  const unitIn = async (parent: string) =>
    (await make(api, account, '/nodes', { name: `Team ${++roles}`, node_type: 'unit', parent_node_id: parent })).id;
  const move = async (id: string, parent: string) => {
    const { version } = (await key('GET', `/nodes/${id}`)).json().data;
    expect(outcomeOf(await key('POST', `/nodes/${id}/move`, { parent_node_id: parent }, version))).toBe('200');
  };
  const root = async () =>
    (
      await rowsOf<{ id: string }>(api, 'select id from nodes where environment_id = $1 and parent_node_id is null', [
        account.scope.environmentId,
      ])
    )[0]?.id as string;
  const ends = async (id: string) =>
    (await rowsOf(api, `select from events where resource_id = $1 and action = 'scim_group_mapping.deleted'`, [id]))
      .length;

  test('its directory gives nothing any more, and its mapping has ended', async () => {
    const unit = await unitIn(organization);
    const team = await unitIn(unit);
    const [above, inside, kept] = [await map('Eng', unit), await map('Eng', team), await map('Eng', organization)];
    const { id } = await newUser(own);
    await newGroup(own, 'Eng', id);
    // Within the organization, nothing changes.
    const other = await unitIn(organization);
    await move(unit, other);
    expect(await heldBy(api, id)).toEqual([above.held, inside.held, kept.held].sort());
    await move(unit, await root());
    expect(await heldBy(api, id)).toEqual([kept.held]);
    expect([await ends(above.id), await ends(inside.id), await ends(kept.id)]).toEqual([1, 1, 0]);
  });

  test('a mapping that is created meanwhile waits, and is refused; so is one that would move there', async () => {
    const unit = await unitIn(organization);
    const team = await unitIn(unit);
    const { id: elsewhere } = await map('Eng', organization);
    const { id: role_id } = await make(api, account, '/roles', { name: `R ${++roles}`, permission_keys: [] });
    const { environmentId: environment_id } = account.scope;
    const mapping = { environment_id, organization_id: organization, scim_group: 'Eng', role_id, node_id: team };
    const [rootId, back] = [await root(), organization];
    const moving = async (parentId: string, ask: () => Promise<LightMyRequestResponse>) => {
      const { version } = (await key('GET', `/nodes/${unit}`)).json().data;
      const moved = { id: unit, version, changes: { parentId }, at: api.clock.now };
      return outcomeOf(await comingUpon(api.database, (tx) => changeNode(tx, account.scope, moved), ask));
    };
    expect(await moving(rootId, () => portal('POST', '/scim/group-mappings', mapping))).toBe('400 validation.failed');
    expect(await moving(back, () => portal('PATCH', `/scim/group-mappings/${elsewhere}`, { node_id: team }))).toBe(
      '200',
    );
    expect(await moving(rootId, () => portal('POST', '/scim/group-mappings', mapping))).toBe('400 validation.failed');
  });

  test('what earlier moves left there ends with the membership and with the organization', async () => {
    const [one, two] = [await unitIn(organization), await unitIn(organization)];
    const [first, second] = [await map('Eng', one), await map('Eng', two)];
    const [ana, ben] = [await newUser(own), await newUser(own)];
    await newGroup(own, 'Eng', ana.id, ben.id);
    const rootId = await root();
    await rowsOf(api, 'update nodes set parent_node_id = $2, path = array[$2, id] where id = any($1)', [
      [one, two],
      rootId,
    ]);
    expect(outcomeOf(await key('DELETE', `/organizations/${organization}/members/${ana.id}`))).toBe('204');
    expect(await heldBy(api, ana.id)).toEqual([]);
    expect(await heldBy(api, ben.id)).toEqual([first.held, second.held].sort());
    const { version } = (await key('GET', `/organizations/${organization}`)).json().data;
    expect(outcomeOf(await key('DELETE', `/organizations/${organization}?cascade=true`, undefined, version))).toBe(
      '204',
    );
    expect(await heldBy(api, ben.id)).toEqual([]);
    expect([await ends(first.id), await ends(second.id)]).toEqual([1, 1]);
  });
});
