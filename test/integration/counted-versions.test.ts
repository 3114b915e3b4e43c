import { changeGroupsOf } from '../../src/domain/scim-roles/leaving-groups.js';
import { startApi, type TestApi } from '../support/api.js';
import { newPlaces, type Place } from '../support/operations/place.js';
import { newDirectory, newGroup, newUser, operations } from '../support/scim.js';
import { comingUpon } from '../support/uncommitted.js';

/** Two simultaneous changes of one object are two versions: a client that read the first one learns of the second. */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

const versionOf = async (table: string, key: string, id: string) =>
  (await place.rows<{ version: number }>(`select version from ${table} where ${key} = $1`, [id]))[0]?.version;

test('a group has two new versions when its directory changes it while a member leaves the Environment', async () => {
  const directory = await newDirectory(api, place.account);
  const [user, other] = [await newUser(directory), await newUser(directory)];
  const group = await newGroup(directory, 'Staff', user.id, other.id);
  const answer = await comingUpon(
    api.database,
    (tx) => changeGroupsOf(tx, place.scope, user.id, api.clock.now),
    () => directory('PATCH', `/Groups/${group}`, operations({ op: 'replace', path: 'displayName', value: 'All' })),
  );
  expect(answer.statusCode).toBe(204);
  expect(await versionOf('scim_groups', 'id', group)).toBe(3);
});
