import { days } from '../../src/platform/clock.js';
import {
  compareAdministration,
  compareAuditLog,
  compareKeys,
  compareOperations,
  compareSight,
} from '../support/administrator-rights/comparisons.js';
import { addToOrganization, giveRole, makeKey } from '../support/administrator-rights/grant-steps.js';
import {
  acceptInvite,
  inviteSomebody,
  removeInvited,
  renewInvite,
  revokeInvite,
} from '../support/administrator-rights/invite-steps.js';
import {
  appointOwner,
  changeMember,
  changeRole,
  makeRole,
  removeMember,
  removeRole,
  someAccount,
  someSession,
} from '../support/administrator-rights/member-steps.js';
import { giveBeyond, makeKeyBeyond, moveBeyond } from '../support/administrator-rights/overreach-steps.js';
import {
  endSession,
  leave,
  makeEnvironment,
  makeNode,
  moveSomeNode,
  removeEnvironment,
  removeNode,
  requireOfSignIns,
} from '../support/administrator-rights/structure-steps.js';
import { headersOf, type InAccount, newWorld, type World } from '../support/administrator-rights/world.js';
import { startApi, type TestApi } from '../support/api.js';
import { createRandom } from '../support/random.js';
import { byWeight, live, seedsOf } from '../support/random-histories.js';

/**
 * Random histories of who administers two Accounts: members with built-in and custom roles, in the whole Account or in
 * parts of it, invites, Owners, requirements of sign-ins, and what they do in its parts. After each step the model
 * decides what everybody may do: some operations, lists and annotations are compared with it. Nobody may gain anything
 * that nobody could give, and no Account may lose its last Owner.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

async function somebodyLeaves(world: World, account: InAccount) {
  const session = someSession(world, account);
  if (session.person === world.founder.person) return;
  await leave(world, account, await headersOf(world, session), session);
}
/** Invites expire after a week. */
const timePasses = async (world: World) => world.api.clock.advance(days(world.random.between(1, 5)));

const weighted = byWeight<(world: World, account: InAccount) => Promise<unknown>>([
  [12, changeMember],
  [2, removeMember],
  [1, somebodyLeaves],
  [3, makeRole],
  [3, changeRole],
  [2, removeRole],
  [4, inviteSomebody],
  [3, renewInvite],
  [1, revokeInvite],
  [4, acceptInvite],
  [1, appointOwner],
  [3, requireOfSignIns],
  [2, endSession],
  [1, timePasses],
  [3, makeNode],
  [5, moveSomeNode],
  [2, removeNode],
  [1, makeEnvironment],
  [1, removeEnvironment],
  [3, makeKey],
  [5, giveRole],
  [3, addToOrganization],
  [14, giveBeyond],
  [6, makeKeyBeyond],
  [10, moveBeyond],
]);

test.each(seedsOf(1, 2))('in every history, administrators may do what their roles say: %i', async (seed) => {
  const world = await newWorld(api, createRandom(seed));
  // Each step is followed by some fifty questions, so these are few; `RANDOM_STEPS=100` looks further.
  await live(seed, 12, async (tell, isLast) => {
    const { random } = world;
    for (let i = 0; i < 4; i++) {
      const [step, account] = [random.of(weighted), someAccount(world)];
      tell(`${step.name} in ${account.slug}`);
      api.clock.advance(1);
      await step(world, account);
    }
    // Hardly any history has these four things in a row by itself.
    if (isLast) await removeInvited(world);
    await compareAdministration(world, random.of([world.main, world.other]));
    await compareOperations(world, 8);
    await compareKeys(world, 2);
    await compareSight(world, someSession(world, world.main));
    if (random.below(4) === 0) await compareAuditLog(world, someSession(world, world.main));
  });
});
