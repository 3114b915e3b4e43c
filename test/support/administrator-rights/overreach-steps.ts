import { v7 as uuidv7 } from 'uuid';
import { type Capability, capabilities } from '../../../src/domain/capabilities/administrator-roles.js';
import { makeKey } from './grant-steps.js';
import { inviteSomebody, renewInvite } from './invite-steps.js';
import { bodyOf, changeMember, changeRole, expectOutcome, makeRole, nowOf, someRole } from './member-steps.js';
import type { HeldRole, Limits } from './model.js';
import { homeOf, moveNode } from './structure-steps.js';
import type { TestEnvironment, TestSession, World } from './world.js';

/** The founder leaves somebody little, who tries to give or to gain more: most of these attempts have to be refused. */

const noPlace: Limits = { application_ids: [], environment_ids: [], node_ids: [] };

/** Returns a custom role with a capability and few others, which the founder makes if there is none. */
async function weakRole(world: World, needed: Capability): Promise<string> {
  const { main, random, founder } = world;
  const isWeak = (some: readonly string[]) => some.includes(needed) && some.length < 9;
  const [found] = [...main.model.roles].find(([, { capabilities: some }]) => isWeak(some)) ?? [];
  if (found) return found;
  const wanted = capabilities.filter((one) => one === needed || random.below(8) === 0);
  const request = ['POST', '/administrator-roles', { name: uuidv7(), capabilities: wanted }] as const;
  const answer = await expectOutcome(world, founder, main, [...request], '201');
  const { id } = answer!.json().data;
  main.model.roles.set(id, { systemKey: null, capabilities: wanted });
  return id;
}

/** Has the founder leave a member nothing but these roles. Returns a session of theirs; null if nobody is signed in. */
async function leaveOnly(world: World, roles: HeldRole[]): Promise<TestSession | null> {
  const { main, random, founder } = world;
  const isAdmitted = (one: TestSession) =>
    main.model.refusal(one, { level: 'account', capability: null }, {}, nowOf(world)) === null;
  const session = random.of(world.sessions.filter(isAdmitted));
  if (!session) return null;
  const member = main.model.members.get(session.person)!;
  const request = ['PATCH', `/members/${member.id}`, { roles: roles.map(bodyOf) }] as const;
  await expectOutcome(world, founder, main, [...request], '200');
  member.held = roles;
  return session;
}

/** Whoever only manages members gives roles, also to themselves, makes them, adds to them, or renews what others gave. */
export async function giveBeyond(world: World) {
  const { main, random, founder } = world;
  const role = await weakRole(world, 'members.manage');
  const more = someRole(world, main, founder);
  const isMore = more.role !== role && more.limits !== null;
  const session = await leaveOnly(world, [{ role, limits: null }, ...(isMore ? [more] : [])]);
  if (!session) return;
  for (const give of [changeMember, random.of([inviteSomebody, renewInvite, makeRole, changeRole]), changeMember])
    await give(world, main, session);
}

/** Whoever manages the keys of one Environment makes some, and renews those of others. */
export async function makeKeyBeyond(world: World) {
  const role = await weakRole(world, 'env_api_keys.manage');
  const limits = { ...noPlace, environment_ids: [homeOf(world).id] };
  const session = await leaveOnly(world, [{ role, limits }]);
  for (let i = 0; i < 2 && session; i++) await makeKey(world, world.main, session);
}

/** Whoever holds more at one node moves others below it, and back. */
export async function moveBeyond(world: World) {
  const { random, main } = world;
  const { model } = main;
  const nodesIn = ({ id }: TestEnvironment) => [...model.nodes].filter((one) => one[1].environment === id);
  const environment = random.of([homeOf(world), ...world.environments].filter((one) => nodesIn(one).length > 3));
  const inside = nodesIn(environment);
  const [top] = random.of(inside.filter((one) => one[1].parent !== null))!;
  const role = await weakRole(world, 'env_structure.manage');
  const more = random.of([...model.roles.keys()].filter((one) => one !== role));
  const whole = { ...noPlace, environment_ids: [environment.id] };
  const session = await leaveOnly(world, [
    { role, limits: random.of([null, whole]) },
    { role: more, limits: { ...noPlace, node_ids: [top] } },
  ]);
  if (!session) return;
  const ids = inside.map(([id]) => id);
  const outside = ids.filter((id) => !model.isAtOrBelow(id, top));
  const below = ids.filter((id) => model.isAtOrBelow(id, top));
  const movable = outside.filter((id) => model.nodes.get(id)!.parent !== null);
  for (let i = 0; i < 2 && movable.length > 0; i++)
    await moveNode(world, { session, environment, id: random.of(movable), parent: random.of(below) });
  await moveNode(world, { session, environment, id: random.of(below), parent: random.of(outside) });
}
