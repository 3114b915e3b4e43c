import { v7 as uuidv7 } from 'uuid';
import { permissions } from '../../../src/domain/access/roles/permissions.js';
import { outcomeOf } from '../answers.js';
import { nowOf } from './member-steps.js';
import type { Asked } from './model.js';
import { expectOutcome, homeOf, nodeFor, notFound, refusalIn, someAble } from './structure-steps.js';
import { call, type InAccount, type Method, pathOf, type TestSession, type World } from './world.js';

/** What administrators give to others than administrators: keys, roles of end users, places in organizations. */

const inOrganizations = { level: 'environment', capability: 'env_organizations.manage', inPart: true } as const;
const byFounder = (world: World, request: [Method, string, object?], expected: string) =>
  expectOutcome(world, world.founder, request, expected);

/** Somebody whose capability is limited can make keys with scopes, but none that may do everything. */
export async function makeKey(world: World, _: InAccount, session = someAble(world, 'env_api_keys.manage')) {
  const { random, main, keys } = world;
  const environment = homeOf(world);
  const scopes = random.below(2) === 0 ? null : permissions.filter(() => random.below(5) === 0);
  if (scopes?.length === 0) return;
  const asked: Asked = { level: 'environment', capability: 'env_api_keys.manage' };
  const keeping = main.model.allowing(main.model.heldBy(session.person), 'env_api_keys.manage');
  const isWhole = keeping.some(({ limits }) => limits === null);
  const refused = scopes === null && !isWhole ? '403 api_key.cannot_grant' : null;
  const expected = refusalIn(world, session, environment, asked, []) ?? refused;
  const mode = scopes === null ? { access_mode: 'full' } : { access_mode: 'scoped', scopes };
  const other = random.of(keys);
  if (other && random.below(3) === 0) {
    const old = other.scopes === null && !isWhole ? '403 api_key.cannot_grant' : null;
    const rotating = refusalIn(world, session, environment, asked, []) ?? old ?? '200';
    const path = `${pathOf(environment)}/api-keys/${other.id}/rotate`;
    const answer = await expectOutcome(world, session, ['POST', path, { overlap_seconds: 0 }], rotating);
    if (answer) other.secret = answer.json().data.secret;
    return;
  }
  const request: [Method, string, object] = ['POST', `${pathOf(environment)}/api-keys`, { name: 'Made', ...mode }];
  const answer = await expectOutcome(world, session, request, expected ?? '201');
  if (answer) keys.push({ id: answer.json().data.id, secret: answer.json().data.secret, scopes });
}

/** Roles of end users are given only where the administrator may give them, whatever the operation. */
export async function giveRole(world: World) {
  const { random, main, given } = world;
  const { model } = main;
  const [session, home] = [someAble(world, 'env_roles.manage'), homeOf(world)];
  const held = model.heldBy(session.person);
  const somewhere = random.below(5) > 0 ? home : random.of(world.environments);
  const nodeId = nodeFor(world, somewhere, session, 'env_roles.manage');
  const at: [string, string][] = [['env_roles.manage', nodeId]];
  const role = { role_id: given.roleId, node_id: nodeId };
  const email = `${uuidv7()}@example.com`;
  const isHere = model.nodes.get(nodeId)?.environment === home.id;
  const unknown = isHere ? null : `404 ${notFound}`;
  const way = random.of(['assignment', 'mapping', 'invite'] as const);
  if (way === 'invite') {
    const asked: Asked = { level: 'environment', capability: 'identities.manage' };
    const expected =
      refusalIn(world, session, home, asked, []) ?? unknown ?? refusalIn(world, session, home, asked, at);
    await expectOutcome(
      world,
      session,
      ['POST', `${pathOf(home)}/identity-invites`, { email, ...role }],
      expected ?? '201',
    );
  } else if (way === 'mapping') {
    const asked: Asked = { level: 'account', capability: 'scim.manage' };
    const refused = model.refusal(session, asked, {}, nowOf(world)) ?? unknown;
    const there = {
      capability: 'env_roles.manage',
      level: 'environment',
      node: { id: nodeId, missing: notFound },
    } as const;
    const expected = refused ?? model.refusalAt(held, there, home.id) ?? '201';
    const body = { environment_id: home.id, scim_group: email, ...role };
    const answer = await expectOutcome(world, session, ['POST', '/scim/group-mappings', body], expected);
    if (answer) await byFounder(world, ['DELETE', `/scim/group-mappings/${answer.json().data.id}`], '204');
  } else await assign(world, session, { at, role, unknown });
}

async function assign(
  world: World,
  session: TestSession,
  { at, role, unknown }: { at: [string, string][]; role: object; unknown: string | null },
) {
  const { main, given } = world;
  const home = homeOf(world);
  const path = `${pathOf(home)}/role-assignments`;
  const asked: Asked = { level: 'environment', capability: 'env_roles.manage', inPart: true };
  const held = main.model.heldBy(session.person);
  const whole = main.model.ofEnvironment(home.id);
  const isKnown = ['env_roles.manage', 'identities.view'].some((one) => main.model.may(held, one, whole));
  const body = { role_assignments: [{ identity_id: given.identityId, ...role }] };
  const answer = await call(world, session, main, ['POST', path, body]);
  const refused = refusalIn(world, session, home, asked, []);
  if (refused) return expect(outcomeOf(answer)).toBe(refused);
  const [item] = answer.json().items;
  const expected = isKnown ? (unknown ?? refusalIn(world, session, home, asked, at)) : '404 identity.not_found';
  expect(item.error?.code ?? item.status).toBe(expected?.slice(4) ?? 'created');
  if (!expected) await byFounder(world, ['DELETE', path, { assignment_ids: [item.id] }], '200');
}

/** Somebody who sees only a part of the people adds only people of that part to an organization. */
export async function addToOrganization(world: World) {
  const { main, given, random } = world;
  const { model } = main;
  const [session, home] = [someAble(world, 'env_organizations.manage'), homeOf(world)];
  const inside = [...model.nodes].filter((one) => one[1].environment === home.id && one[1].type === 'organization');
  const reached = inside.filter(([id]) =>
    model.may(model.heldBy(session.person), 'env_organizations.manage', model.ofNode(id)),
  );
  const [id] = random.of(reached.length > 0 && random.below(3) > 0 ? reached : inside);
  const asked: Asked = { ...inOrganizations, node: { id, missing: 'organization.not_found' } };
  const held = model.heldBy(session.person);
  const [root, whole] = [model.ofNode(model.path(id)[0]!), model.ofEnvironment(home.id)];
  const isKnown =
    model.may(held, 'env_organizations.manage', root) ||
    model.may(held, 'env_organizations.manage', whole) ||
    model.may(held, 'identities.view', whole);
  const expected = refusalIn(world, session, home, asked, []) ?? (isKnown ? '201' : '404 identity.not_found');
  const path = `${pathOf(home)}/organizations/${id}/members`;
  const answer = await expectOutcome(world, session, ['POST', path, { identity_id: given.identityId }], expected);
  if (answer) await byFounder(world, ['DELETE', `${path}/${given.identityId}`], '204');
}
