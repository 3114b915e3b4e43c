import { startApi, type TestApi } from '../../support/api.js';
import * as administrators from '../../support/directories/administrator-steps.js';
import { compareDirectory, comparePlaces, compareRoles, compareSessions } from '../../support/directories/compare.js';
import * as directories from '../../support/directories/directory-steps.js';
import { changeShared } from '../../support/directories/shared-steps.js';
import * as tree from '../../support/directories/tree-steps.js';
import { directoriesOf, newWorld, type World } from '../../support/directories/world.js';
import { createRandom } from '../../support/random.js';
import { byWeight, live, seedsOf } from '../../support/random-histories.js';

/**
 * Random histories of an Environment whose people two directories provision, the Account's and an organization's or
 * those of two organizations, while administrators change the same people, roles and nodes by hand. After each step,
 * who exists, is active, is a member, is signed in and holds which role from where has to be what docs/scim.md says.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const steps: [number, (world: World) => Promise<void>][] = [
  [8, directories.createUser],
  [6, directories.putUser],
  [10, directories.patchUser],
  [4, directories.deleteUser],
  [4, directories.createGroup],
  [4, directories.putGroup],
  [10, directories.patchGroup],
  [1, directories.deleteGroup],
  [1, directories.rotateToken],
  [5, directories.verifyDomain],
  [4, changeShared],
  [3, administrators.addPerson],
  [1, administrators.removePerson],
  [3, administrators.setActive],
  [2, administrators.setPassword],
  [1, administrators.moveAddress],
  [1, administrators.joinProduction],
  [5, administrators.signIn],
  [4, administrators.joinOrganization],
  [3, administrators.leaveOrganization],
  [2, administrators.setRoles],
  [3, administrators.give],
  [2, administrators.take],
  [2, administrators.invite],
  [3, administrators.accept],
  [6, tree.map],
  [2, tree.remap],
  [1, tree.unmap],
  [1, tree.makeNode],
  [1, tree.removeNode],
  [2, tree.moveNode],
  [1, tree.removeRole],
];
const weighted = byWeight(steps);

/** What there is from the beginning, so that short histories meet it. */
const beginning = [
  ...Array.from({ length: 2 }, () => directories.verifyDomain),
  ...Array.from({ length: 8 }, () => directories.createUser),
  ...Array.from({ length: 4 }, () => directories.createGroup),
  ...Array.from({ length: 2 }, () => directories.verifyDomain),
  ...Array.from({ length: 6 }, () => tree.map),
  ...Array.from({ length: 2 }, () => administrators.addPerson),
  ...Array.from({ length: 3 }, () => administrators.joinOrganization),
  ...Array.from({ length: 3 }, () => administrators.setPassword),
  ...Array.from({ length: 4 }, () => administrators.signIn),
];

test.each(seedsOf(1, 3, 4))('in every history, people and roles come from where they should: %i', async (seed) => {
  const world = await newWorld(api, createRandom(seed));
  for (const step of beginning) {
    api.clock.advance(1);
    await step(world);
  }
  // Each step is followed by some twenty requests, so these are few; `RANDOM_STEPS=100` looks further.
  await live(seed, 30, async (tell, isLast) => {
    const step = world.random.of(weighted);
    tell(`${step.name} ${api.clock.now.toISOString()}`);
    api.clock.advance(1);
    await step(world);
    await compareRoles(world);
    await comparePlaces(world);
    const all = directoriesOf(world);
    for (const directory of isLast ? all : [world.random.of(all)]) await compareDirectory(world, directory);
    await compareSessions(world);
  });
});
