import { v7 as uuidv7 } from 'uuid';
import { createErasures } from '../../src/domain/erasures/erasures.js';
import { removeMemberships } from '../../src/domain/erasures/steps.js';
import { addMember } from '../../src/domain/organizations/members.js';
import { outcomesOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { membersOf, newPerson, newRole, rolesHeld } from '../support/api-organizations.js';
import { untilWaiting } from '../support/lock-waits.js';
import { assign, type Calls, callsWith, newNode } from '../support/nodes.js';
import { databaseTime, eventsSince, rowsOf } from '../support/rows.js';
import { comingUpon } from '../support/uncommitted.js';

let api: TestApi;
let account: TestAccount;
let key: Calls;
let acme: string;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  account = await newAccount(api);
  key = callsWith(api, await account.apiKey());
  acme = await newOrganization('Acme');
});
afterAll(() => api.stop());

const newOrganization = async (name: string) => (await newNode(key, name, null, { node_type: 'organization' })).id;
const add = (identityId: string, roleIds: string[] = [], organizationId = acme) =>
  api.database.db.transaction(account.scope, (tx) =>
    addMember(tx, account.scope, { organizationId, identityId, roleIds, at: api.clock.now }),
  );
const eventsAbout = async (since: string, action: string) =>
  (await eventsSince(api, account.scope.accountId, since)).filter((event) => event.action === action);
const peopleCounted = async () => (await key('GET', '/identities/summary')).json().data.total as number;

describe('a person who joins an organization', () => {
  test('is a member with roles, counted and reported once, however often', async () => {
    const since = await databaseTime(api);
    const [ben, role] = [await newPerson(api, account), await newRole(key, 'Reader', ['hierarchy.view'])];
    expect(await add(ben, [role])).toBe(true);
    expect(await add(ben, [role])).toBe(false);
    expect(await membersOf(api, acme)).toEqual({ members: [ben], count: 1 });
    expect(await rolesHeld(api, ben, acme)).toEqual([role]);
    const metadata = { identity_id: ben, role_ids: [role] };
    expect(await eventsAbout(since, 'organization.member_added')).toEqual([expect.objectContaining({ metadata })]);
    expect(await eventsAbout(since, 'role_assignment.created')).toHaveLength(1);
  });

  test('joins once if many add them at the same time', async () => {
    const people = await Promise.all([1, 2, 3].map(() => newPerson(api, account)));
    const outcomes = await Promise.all([...people, ...people, ...people, ...people].map((id) => add(id)));
    expect(outcomes.filter(Boolean)).toHaveLength(3);
    expect(await membersOf(api, acme)).toEqual({ members: people.toSorted(), count: 3 });
  });

  test('keeps what they hold there already, and gets ended roles again', async () => {
    const ben = await newPerson(api, account);
    const [kept, over] = [await newRole(key, 'Kept', []), await newRole(key, 'Over', [])];
    const ends = new Date(api.clock.now.getTime() + 1_000).toISOString();
    const wanted = { identity_id: ben, node_id: acme };
    await key('POST', '/role-assignments', {
      role_assignments: [
        { ...wanted, role_id: kept, effective_to: '2999-01-01T00:00:00.000Z' },
        { ...wanted, role_id: over, effective_to: ends },
      ],
    });
    api.clock.advance(2_000);
    await add(ben, [kept, over]);
    const { items } = (await key('GET', `/identities/${ben}/role-assignments?order=asc`)).json();
    expect(items.map(({ id, effective_to }: { id: string; effective_to: string }) => [id, effective_to])).toEqual([
      [kept, '2999-01-01T00:00:00.000Z'],
      [over, ends],
      [over, null],
    ]);
  });

  test('has to be in the environment, where the organization and its roles have to exist too', async () => {
    const ben = await newPerson(api, account);
    const stranger = await newPerson(api, { scope: account.productionScope });
    await expect(add(stranger)).rejects.toMatchObject({ code: 'identity.not_found' });
    await expect(add(ben, [], uuidv7())).rejects.toMatchObject({ code: 'organization.not_found' });
    const unit = await newNode(key, 'Unit', null);
    await expect(add(ben, [], unit.id)).rejects.toMatchObject({ code: 'organization.not_found' });
    await expect(add(ben, [uuidv7()])).rejects.toMatchObject({ code: 'role.not_found' });
    expect(await membersOf(api, acme)).toEqual({ members: [], count: 0 });
  });
});

describe('a person who leaves the environment', () => {
  test('leaves its organizations, with their counts and events', async () => {
    const [ben, cleo] = [await newPerson(api, account), await newPerson(api, account)];
    const other = await newOrganization('Other');
    for (const organization of [acme, other]) for (const one of [ben, cleo]) await add(one, [], organization);
    const since = await databaseTime(api);
    expect((await key('DELETE', `/identities/${ben}`)).statusCode).toBe(204);
    for (const organization of [acme, other]) {
      expect(await membersOf(api, organization)).toEqual({ members: [cleo], count: 1 });
    }
    const removed = await eventsAbout(since, 'organization.member_removed');
    expect(removed.map(({ metadata }) => metadata)).toEqual([{ identity_id: ben }, { identity_id: ben }]);
  });

  test('does so also by an erasure', async () => {
    const ben = await newPerson(api, account);
    await add(ben);
    const erasures = createErasures({ db: api.database.db, now: () => api.clock.now });
    const { id } = await erasures.request(account.scope, ben);
    await erasures.removeMemberships(id);
    expect(await membersOf(api, acme)).toEqual({ members: [], count: 0 });
  });

  test('is counted once, with one event, if an erasure happens at the same moment', async () => {
    const ben = await newPerson(api, account);
    await add(ben);
    const { db } = api.database;
    const erasure = await createErasures({ db, now: () => api.clock.now }).request(account.scope, ben);
    const before = await peopleCounted();
    const since = await databaseTime(api);
    const deletion = await comingUpon(
      api.database,
      (tx) => removeMemberships(tx, erasure, 100),
      () => key('DELETE', `/identities/${ben}`),
    );
    expect(outcomesOf([deletion])).toEqual({ '404 identity.not_found': 1 });
    expect(await peopleCounted()).toBe(before - 1);
    expect(await eventsAbout(since, 'identity.deleted')).toHaveLength(1);
  });

  test('does not deadlock with a deletion of nodes where they hold roles', async () => {
    const [ben, unit] = [await newPerson(api, account), await newNode(key, 'Unit', null)];
    const first = await assign(api, account, ben, 'viewer', unit.id);
    const held = await assign(api, account, ben, 'viewer', acme);
    await assign(api, account, ben, 'administrator', unit.id);
    // Last in the table, where a cascade reaches it later.
    const moved = `update role_assignments set created_at = created_at + interval '1 second' where id = $1 returning id`;
    expect(await rowsOf(api, moved, [first])).toHaveLength(1);
    const ended = await api.database.db.transaction('system', async (tx) => {
      // So that the removal has locked the first of the three when the deletion comes, but not yet the last.
      await tx.query('select from role_assignments where id = $1 for update', [held]);
      const removal = Promise.resolve(key('DELETE', `/identities/${ben}`));
      await untilWaiting(api.database.ownerUrl, 1);
      const deletion = Promise.resolve(key('DELETE', `/nodes/${unit.id}`, undefined, 1));
      await untilWaiting(api.database.ownerUrl, 2);
      return { both: [removal, deletion] };
    });
    expect(outcomesOf(await Promise.all(ended.both))).toEqual({ 204: 2 });
  });

  test('does not deadlock with a person who joins, or with the organization’s deletion', async () => {
    for (let round = 0; round < 4; round++) {
      const organization = await newOrganization(`Round ${round}`);
      const people = await Promise.all([1, 2, 3, 4].map(() => newPerson(api, account)));
      for (const one of people.slice(0, 2)) {
        await add(one, [], organization);
        await assign(api, account, one, 'viewer', organization);
      }
      const role = await newRole(key, `Role ${round}`, []);
      const joins = people.map((one) => add(one, [role], organization).catch(({ code }) => code));
      const removals = people.slice(0, 3).map((one) => key('DELETE', `/identities/${one}`));
      const deletion = key('DELETE', `/nodes/${organization}`, undefined, 1);
      expect(outcomesOf(await Promise.all([...removals, deletion]))).toEqual({ 204: 4 });
      for (const outcome of await Promise.all(joins)) {
        expect([true, false, 'identity.not_found', 'organization.not_found']).toContain(outcome);
      }
    }
  });
});
