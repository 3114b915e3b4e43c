import { v7 as uuidv7 } from 'uuid';
import { outcomeOf } from '../answers.js';
import { rowsOf } from '../rows.js';
import { nowOf, someSession } from './member-steps.js';
import type { Asked, Named } from './model.js';
import {
  addEnvironment,
  call,
  type InAccount,
  type Method,
  pathOf,
  type TestEnvironment,
  type TestSession,
  type World,
} from './world.js';

/** What administrators do in the parts of the main Account, and what the Account requires of them. */

export const notFound = 'nodes.node_not_found';

export const namedBy = ({ main: { model } }: World, { id }: Pick<TestEnvironment, 'id'>): Named => ({
  application: model.environments.get(id)!,
  environment: id,
});
export const homeOf = ({ environments, home }: World): TestEnvironment =>
  environments.find(({ id }) => id === home.scope.environmentId)!;
const someEnvironment = (world: World) => world.random.of([homeOf(world), ...world.environments]);
/** A session of somebody who may do something somewhere, but is rather no Owner, who may do it everywhere. */
export function someAble(world: World, capability: string): TestSession {
  const { main, random, sessions } = world;
  const { model } = main;
  const isAble = ({ person }: TestSession) => model.allowing(model.heldBy(person), capability).length > 0;
  const able = sessions.filter((one) => one.isAlive && !model.owes(one) && isAble(one));
  const weak = able.filter(({ person }) => !model.owners().includes(person));
  return weak.length > 0 && random.below(4) > 0 ? random.of(weak) : someSession(world, main);
}
/** A node of an Environment, often one where somebody may do something. */
export function nodeFor(
  world: World,
  environment: TestEnvironment,
  { person }: TestSession,
  capability: string,
): string {
  const { model } = world.main;
  const held = model.heldBy(person);
  const inside = [...model.nodes.keys()].filter((id) => model.nodes.get(id)?.environment === environment.id);
  const reached = inside.filter((id) => model.may(held, capability, model.ofNode(id)));
  return world.random.of(reached.length > 0 && world.random.below(3) > 0 ? reached : inside);
}
const inStructure = { level: 'environment', capability: 'env_structure.manage', inPart: true } as const;

/** The refusal of an operation in an Environment, and then of what it needs at a node that its body names. */
export function refusalIn(
  world: World,
  session: TestSession,
  environment: TestEnvironment,
  asked: Asked,
  nodes: [string, string][],
) {
  const { model } = world.main;
  const refused = model.refusal(session, asked, namedBy(world, environment), nowOf(world));
  const at = ([capability, id]: [string, string]) =>
    model.refusalAt(
      model.heldBy(session.person),
      { ...asked, capability, node: { id, missing: notFound } },
      environment.id,
    );
  return refused ?? nodes.map(at).find((one) => one !== null) ?? null;
}

export async function expectOutcome(
  world: World,
  session: TestSession,
  request: [Method, string, object?],
  expected: string,
  version?: number,
) {
  const answer = await call(world, session, world.main, request, version);
  expect([request[0], request[1], outcomeOf(answer)]).toEqual([request[0], request[1], expected]);
  return expected.startsWith('2') ? answer : null;
}

const made = new WeakMap<World, Set<string>>();
const madeIn = (world: World) => made.get(world) ?? made.set(world, new Set()).get(world)!;

export async function makeNode(world: World) {
  const environment = someEnvironment(world);
  const session = someAble(world, 'env_structure.manage');
  const parent = nodeFor(world, environment, session, 'env_structure.manage');
  const expected = refusalIn(world, session, environment, inStructure, [['env_structure.manage', parent]]) ?? '201';
  const body = { parent_node_id: parent, node_type: 'unit', name: uuidv7() };
  const answer = await expectOutcome(world, session, ['POST', `${pathOf(environment)}/nodes`, body], expected);
  if (!answer) return;
  const { id } = answer.json().data;
  world.main.model.nodes.set(id, { environment: environment.id, parent, type: 'unit' });
  madeIn(world).add(id);
}

async function versionOf({ api }: World, id: string): Promise<number> {
  const [row] = await rowsOf<{ version: number }>(api, 'select version from nodes where id = $1', [id]);
  return row!.version;
}

export async function moveSomeNode(world: World) {
  const environment = someEnvironment(world);
  const session = someAble(world, 'env_structure.manage');
  const someNode = () => nodeFor(world, environment, session, 'env_structure.manage');
  await moveNode(world, { session, environment, id: someNode(), parent: someNode() });
}

interface Move {
  session: TestSession;
  environment: TestEnvironment;
  id: string;
  parent: string;
}

/** A role also applies below its node, so nobody may move a node to where they hold more than at the node itself. */
export async function moveNode(world: World, { session, environment, id, parent }: Move) {
  const { model } = world.main;
  const node = model.nodes.get(id)!;
  const asked: Asked = { ...inStructure, node: { id, missing: notFound } };
  const refusal = (): string | null => {
    const refused = refusalIn(world, session, environment, asked, []);
    if (refused || node.parent === parent) return refused;
    const parents = [parent, ...(node.parent ? [node.parent] : [])];
    const there = refusalIn(
      world,
      session,
      environment,
      asked,
      parents.map((one) => ['env_structure.manage', one]),
    );
    if (there) return there;
    const held = model.heldBy(session.person);
    const [before, after] = [id, parent].map((one) => model.capabilitiesAt(held, model.ofNode(one)));
    if ([...after!].some((one) => !before!.has(one))) return '403 role.cannot_grant';
    if (node.type === 'root') return '400 nodes.root_fixed';
    if (model.isAtOrBelow(parent, id)) return '400 nodes.would_cycle';
    const isWrong = node.type === 'organization' && model.nodes.get(parent)?.type === 'unit';
    return isWrong ? '400 nodes.type_not_allowed' : null;
  };
  const expected = refusal() ?? '200';
  const request: [Method, string, object] = [
    'POST',
    `${pathOf(environment)}/nodes/${id}/move`,
    { parent_node_id: parent },
  ];
  if (await expectOutcome(world, session, request, expected, await versionOf(world, id))) node.parent = parent;
}

export async function removeNode(world: World) {
  const { model } = world.main;
  const id = world.random.of([...madeIn(world)].filter((one) => model.nodes.has(one)));
  const below = [...model.nodes.keys()].filter((one) => id && model.isAtOrBelow(one, id));
  if (!id || below.some((one) => !madeIn(world).has(one))) return;
  const session = someAble(world, 'env_structure.manage');
  const environment = world.environments.find((one) => one.id === model.nodes.get(id)?.environment)!;
  const asked: Asked = { ...inStructure, node: { id, missing: notFound } };
  const expected = refusalIn(world, session, environment, asked, []) ?? '204';
  const request: [Method, string] = ['DELETE', `${pathOf(environment)}/nodes/${id}?cascade=true`];
  if (await expectOutcome(world, session, request, expected, await versionOf(world, id))) model.forget(below);
}

export async function makeEnvironment(world: World) {
  const { appSlug, id } = world.random.of(world.environments);
  if (world.environments.length > 6) return;
  const session = someAble(world, 'applications.manage');
  const { application } = namedBy(world, { id });
  const asked: Asked = { level: 'application', capability: 'applications.manage' };
  const expected = world.main.model.refusal(session, asked, { application: application! }, nowOf(world)) ?? '201';
  const slug = `e-${uuidv7()}`;
  const body = { name: 'Made', slug, type: 'development' };
  const answer = await expectOutcome(world, session, ['POST', `/applications/${appSlug}/environments`, body], expected);
  if (!answer) return;
  const made = { id: answer.json().data.id, slug, appSlug };
  await addEnvironment(world, application!, made);
  madeIn(world).add(made.id);
}

export async function removeEnvironment(world: World) {
  const environment = world.random.of(world.environments.filter(({ id }) => madeIn(world).has(id)));
  if (!environment) return;
  const session = someAble(world, 'applications.manage');
  const { model } = world.main;
  const asked: Asked = { level: 'environment', capability: 'applications.manage' };
  const expected = model.refusal(session, asked, namedBy(world, environment), nowOf(world)) ?? '204';
  const path = `${pathOf(environment)}?confirm=${environment.slug}`;
  if (!(await expectOutcome(world, session, ['DELETE', path], expected))) return;
  const nodes = [...model.nodes].filter((one) => one[1].environment === environment.id).map(([id]) => id);
  world.environments = world.environments.filter((one) => one !== environment);
  model.forget([environment.id, ...nodes]);
}

/** Only an Owner decides what sign-ins an Account requires, and only after such a sign-in. */
export async function requireOfSignIns(world: World, account: InAccount) {
  const { model } = account;
  const session = someSession(world, account);
  const [which, wanted] = [world.random.of(['mfa', 'sso'] as const), world.random.below(3) === 0];
  const isSo = which === 'mfa' ? model.requireMfa : model.requireSso;
  const refusal = (): string | null => {
    if (isSo === wanted) return null;
    if (!model.owners().includes(session.person)) return '403 account.owner_required';
    if (!wanted) return null;
    if (which === 'sso') return session.via === model.id ? null : '403 account.sso_required';
    if (session.isStrong) return null;
    return session.hasFactor ? '403 mfa.challenge_required' : '409 mfa.not_enrolled';
  };
  const asked: Asked = { level: 'account', capability: 'account.manage' };
  const expected = model.refusal(session, asked, {}, nowOf(world)) ?? refusal() ?? '200';
  const answer = await call(world, session, account, ['PATCH', '', { [`require_${which}`]: wanted }]);
  expect(outcomeOf(answer)).toBe(expected);
  if (expected !== '200') return;
  if (which === 'mfa') model.requireMfa = wanted;
  else model.requireSso = wanted;
}

/** Whoever leaves needs no right; only an Account's last Owner has to stay. */
export async function leave(world: World, { model }: InAccount, headers: Record<string, string>, session: TestSession) {
  const refusal = (): string | null => {
    if (!session.isAlive || session.expiresAt <= nowOf(world)) return '401';
    if (!model.members.has(session.person)) return '404 account.not_found';
    if (session.via !== null && session.via !== model.id) return '403 account.other_sign_in_required';
    return model.isLastOwner(session.person) ? '409 member.last_owner' : null;
  };
  const expected = refusal() ?? '204';
  const url = `/v1/auth/accounts/${model.id}/membership`;
  expect(outcomeOf(await world.api.app.inject({ method: 'DELETE', url, headers }))).toBe(expected);
  if (expected === '204') model.members.delete(session.person);
}

export async function endSession(world: World) {
  const session = world.random.of(world.sessions);
  if (world.random.below(3) > 0 || world.sessions.filter(({ isAlive }) => isAlive).length < 12) return;
  await rowsOf(world.api, 'update user_sessions set revoked_at = now() where id = $1', [session.id]);
  session.isAlive = false;
}
