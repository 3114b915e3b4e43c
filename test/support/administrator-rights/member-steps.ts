import { v7 as uuidv7 } from 'uuid';
import { createOwnerByOperator } from '../../../src/domain/accounts/make-owner.js';
import { capabilities } from '../../../src/domain/capabilities/administrator-roles.js';
import { outcomeOf } from '../answers.js';
import { rowsOf } from '../rows.js';
import { type AccountModel, type HeldRole, type Limits, sameLimits } from './model.js';
import { call, type InAccount, type Method, type TestSession, type World } from './world.js';

/** What administrators do to each other; the model says before whether they may, and has it afterwards. */

export const managing = { level: 'account', capability: 'members.manage' } as const;
export const nowOf = ({ api }: World) => api.clock.now.getTime();

/** An Account, mostly the main one. */
export const someAccount = ({ random, main, other }: World): InAccount => random.of([main, main, other]);
/** A session, mostly of somebody whom the Account lets in. */
export function someSession(world: World, { model }: InAccount): TestSession {
  const { random, sessions } = world;
  const inside = sessions.filter((one) => model.members.has(one.person) && one.isAlive && !model.owes(one));
  return random.of(random.below(4) > 0 && inside.length > 0 ? inside : sessions);
}
/**
 * A session of somebody who may manage members, if there are any; rather of those who lack much themselves, whose gifts
 * are refused more often.
 */
export function someManager(world: World, { model }: InAccount): TestSession {
  const { random, sessions, founder, main } = world;
  if (model === main.model && random.below(8) === 0) return founder;
  const able = sessions.filter((one) => model.refusal(one, managing, {}, nowOf(world)) === null);
  const isWeak = ({ person }: TestSession) => model.capabilitiesAt(model.heldBy(person), {}).size < 30;
  const weak = able.filter(isWeak);
  if (weak.length > 0 && random.below(4) > 0) return random.of(weak);
  return random.of(able.length > 0 && random.below(4) > 0 ? able : sessions);
}

function someLimits({ random }: World, { applications, environments, nodes }: AccountModel): Limits | null {
  if (random.below(3) === 0 || nodes.size === 0) return null;
  const some = (ids: Iterable<string>, chance: number) => [...ids].filter(() => random.below(chance) === 0);
  const roots = [...nodes].filter(([, { parent }]) => parent === null).map(([id]) => id);
  const limits = {
    application_ids: some(applications, 6),
    environment_ids: some(environments.keys(), 6),
    node_ids: [...new Set([...some(nodes.keys(), 25), ...some(roots, 4)])],
  };
  return Object.values(limits).some((ids) => ids.length > 0)
    ? limits
    : { ...limits, node_ids: [random.of([...nodes.keys()])] };
}
/** A role in some places; sometimes one that its giver holds, sometimes just where they hold it. */
export function someRole(world: World, { model }: InAccount, giver: TestSession): HeldRole {
  const { random } = world;
  const own = random.of(model.heldBy(giver.person).filter(({ limits }) => model.named(limits).length > 0));
  if (own && random.below(5) === 0) return sent(own);
  const role = own && random.below(4) === 0 ? own.role : random.of([...model.roles.keys()]);
  return { role, limits: someLimits(world, model) };
}
/** Half of the roles manage members, since only their holders give roles. */
const someCapabilities = ({ random }: World) => {
  const manages = random.below(2) === 0;
  return capabilities.filter((one) => (one === 'members.manage' ? manages : random.below(3) > 0));
};
export const bodyOf = ({ role, limits }: HeldRole) => ({ role_id: role, limits });
export const sent = ({ role, limits }: HeldRole): HeldRole => ({ role, limits: structuredClone(limits) });

export async function expectOutcome(
  world: World,
  session: TestSession,
  account: InAccount,
  request: [Method, string, object?],
  expected: string,
) {
  const answer = await call(world, session, account, request);
  expect([request[0], request[1], outcomeOf(answer)]).toEqual([request[0], request[1], expected]);
  return expected.startsWith('2') ? answer : null;
}

/** Checks that nobody holds more afterwards than before, except what the giver held there. */
async function withNothingFromNowhere(model: AccountModel, giver: TestSession, work: () => Promise<unknown>) {
  const places = model.everyPlace();
  const look = () =>
    new Map(
      [...model.members].map(([person, { held }]) => [
        person,
        places.map((place) => model.capabilitiesAt(held, place)),
      ]),
    );
  const before = look();
  const given = before.get(giver.person);
  await work();
  for (const [person, now] of look()) {
    const gained = now.flatMap((held, i) =>
      [...held].filter((one) => !before.get(person)?.[i]?.has(one) && !given?.[i]?.has(one)),
    );
    expect(gained).toEqual([]);
  }
}

export async function changeMember(world: World, account: InAccount, session = someManager(world, account)) {
  const { model } = account;
  const others = [...model.members].filter(([one]) => one !== world.founder.person);
  const own = others.filter(([one]) => one === session.person);
  const [person, member] = world.random.of(own.length > 0 && world.random.below(4) === 0 ? own : others);
  const kept = member.held.filter(() => world.random.below(3) > 0).map(sent);
  const added = Array.from({ length: world.random.between(kept.length > 0 ? 0 : 1, 2) }, () =>
    someRole(world, account, session),
  );
  const wanted = [...kept, ...added].filter(({ role }, i, all) => all.findIndex((one) => one.role === role) === i);
  const isThere = (one: HeldRole, among: HeldRole[]) =>
    among.some(({ role, limits }) => role === one.role && sameLimits(limits, one.limits));
  const given = wanted.filter((one) => !isThere(one, member.held));
  const isEqual = given.length === 0 && wanted.length === member.held.length;
  const giver = model.heldBy(session.person);
  const refusal = (): string | null => {
    if (isEqual) return null;
    if (member.held.some(model.isOwnerRole) && !giver.some(model.makesOwner)) return '403 member.owner_required';
    const refused = given.map((one) => model.grantRefusal(giver, one)).find((one) => one !== null);
    if (refused) return refused;
    return model.isLastOwner(person) && !wanted.some(model.makesOwner) ? '409 member.last_owner' : null;
  };
  const expected = model.refusal(session, managing, {}, nowOf(world)) ?? refusal() ?? '200';
  const request: [Method, string, object] = ['PATCH', `/members/${member.id}`, { roles: wanted.map(bodyOf) }];
  await withNothingFromNowhere(model, session, async () => {
    if (await expectOutcome(world, session, account, request, expected)) member.held = wanted;
  });
}

/** Somebody other than the founder, who stays. */
const someMember = ({ random, founder }: World, { model }: InAccount) =>
  random.of([...model.members.keys()].filter((one) => one !== founder.person));

export async function removeMember(
  world: World,
  account: InAccount,
  session = someManager(world, account),
  person = someMember(world, account),
) {
  const { model } = account;
  const { id, held } = model.members.get(person)!;
  const isByOwner = model.heldBy(session.person).some(model.makesOwner);
  const refusal = (): string | null => {
    if (held.some(model.isOwnerRole) && !isByOwner) return '403 member.owner_required';
    return model.isLastOwner(person) ? '409 member.last_owner' : null;
  };
  const expected = model.refusal(session, managing, {}, nowOf(world)) ?? refusal() ?? '204';
  if (!(await expectOutcome(world, session, account, ['DELETE', `/members/${id}`], expected))) return;
  model.members.delete(person);
  const email = world.people.find(({ userId }) => userId === person)?.email;
  for (const invite of model.invites)
    if (invite.email === email && model.statusOf(invite, nowOf(world)) === 'pending') invite.status = 'revoked';
}

export async function makeRole(world: World, account: InAccount, session = someManager(world, account)) {
  const { model } = account;
  const wanted = someCapabilities(world);
  const lacks = wanted.some((one) => !model.may(model.heldBy(session.person), one, {}));
  const expected =
    model.refusal(session, managing, {}, nowOf(world)) ?? (lacks ? '403 administrator_role.cannot_grant' : '201');
  const body = { name: uuidv7(), capabilities: wanted };
  const answer = await expectOutcome(world, session, account, ['POST', '/administrator-roles', body], expected);
  if (answer) model.roles.set(answer.json().data.id, { systemKey: null, capabilities: wanted });
}

export async function changeRole(world: World, account: InAccount, session = someManager(world, account)) {
  const { model } = account;
  const [id, role] = world.random.of([...model.roles]);
  const { capabilities: before } = role;
  const wanted = capabilities.filter((one) => world.random.below(4) > 0 === before.includes(one));
  const held = model.heldBy(session.person);
  const refusal = (): string | null => {
    if (role.systemKey) return '409 administrator_role.built_in';
    const lacks = wanted.some((one) => !before.includes(one) && !model.may(held, one, {}));
    return lacks ? '403 administrator_role.cannot_grant' : null;
  };
  const expected = model.refusal(session, managing, {}, nowOf(world)) ?? refusal() ?? '200';
  const request: [Method, string, object] = ['PATCH', `/administrator-roles/${id}`, { capabilities: wanted }];
  await withNothingFromNowhere(model, session, async () => {
    if (await expectOutcome(world, session, account, request, expected)) role.capabilities = wanted;
  });
}

export async function removeRole(world: World, account: InAccount, session = someManager(world, account)) {
  const { model } = account;
  const [id, { systemKey }] = world.random.of([...model.roles].slice(-4));
  const isPromised = model.invites.some((one) => one.role === id && model.statusOf(one, nowOf(world)) === 'pending');
  const isHeld = [...model.members.values()].some(({ held }) => held.some(({ role }) => role === id));
  const refusal = (): string | null => {
    if (systemKey) return '409 administrator_role.built_in';
    return isHeld || isPromised ? '409 administrator_role.in_use' : null;
  };
  const expected = model.refusal(session, managing, {}, nowOf(world)) ?? refusal() ?? '204';
  if (await expectOutcome(world, session, account, ['DELETE', `/administrator-roles/${id}`], expected))
    model.roles.delete(id);
}

export async function appointOwner(
  world: World,
  { slug, model }: InAccount,
  { email, userId } = world.random.of(world.people),
) {
  const { api } = world;
  const makeOwner = createOwnerByOperator({ db: api.database.db, now: () => api.clock.now });
  const held = model.heldBy(userId);
  expect(await makeOwner(slug, email)).toBe(held.some(model.makesOwner) ? 'is_owner' : 'made');
  if (held.some(model.makesOwner)) return;
  const [owner] = [...model.roles].find(([, { systemKey }]) => systemKey === 'owner')!;
  const [row] = await rowsOf<{ id: string }>(api, 'select id from memberships where account_id = $1 and user_id = $2', [
    model.id,
    userId,
  ]);
  const others = held.filter((one) => !model.isOwnerRole(one));
  model.members.set(userId, { id: row!.id, held: [...others, { role: owner, limits: null }] });
}
