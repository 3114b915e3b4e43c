import { startApi, type TestApi } from '../support/api.js';
import { broken } from '../support/invariants/index.js';
import { kinds } from '../support/operations/kinds.js';
import { newPlaces, type Place } from '../support/operations/place.js';

/** The rules for rows that the faults run checks at its end (docs/faults.md): each notices what breaks it. */

let api: TestApi;
let place: Place;
beforeAll(async () => {
  api = await startApi();
  place = (await newPlaces(api)).development;
});
afterAll(() => api?.stop());

test.each([
  ['numbers of an organization', 'update organizations set member_count = 5 where id = $1'],
  ['paths', 'update nodes set path = array[id] where id = $1'],
  ['versions of nodes', 'update nodes set version = 7 where id = $1'],
  ['events of organizations', 'delete from nodes where id = $1'],
])('the rule "%s" notices what breaks it', async (rule, statement) => {
  const id = await kinds.organization.make(place);
  const named = async () => (await broken(api.database.ownerUrl)).wrong.filter((what) => what.startsWith(`[${rule}]`));
  expect(await named()).toEqual([]);
  await place.rows(statement, [id]);
  expect((await named()).length).toBeGreaterThan(0);
});
