import { anyMember, type PermissionRule } from '../../../src/http/surfaces/operation.js';
import { outcomeOf } from '../answers.js';
import type { Declared } from '../operations/declared.js';
import { nowOf } from './member-steps.js';
import type { Asked, Limits } from './model.js';
import { sorted } from './model.js';
import { homeOf, namedBy } from './structure-steps.js';
import {
  call,
  everything,
  headersOf,
  type InAccount,
  pathOf,
  type TestEnvironment,
  type TestSession,
  type World,
} from './world.js';

/** What everybody is answered after each step, compared with the model. */

/** Its node is checked by its handler, which also shows nodes that only lead somewhere. */
const nodeOf = ({ operation }: Declared, path: Record<string, string> = {}): Asked['node'] => {
  const rule = operation?.permission;
  if (!operation?.inPart || typeof rule !== 'object' || !rule.at || rule.at === 'root') return undefined;
  return { id: path[rule.at]!, missing: rule.missing };
};
function askedBy(declared: Declared, path: Record<string, string> = {}): Asked {
  const { level, capability, inPart = false, onTheWay = false } = declared.operation!;
  const node = nodeOf(declared, path);
  return {
    level,
    capability: capability === anyMember ? null : String(capability),
    inPart,
    onTheWay,
    ...(node && { node }),
  };
}

/** Builds a request that is refused because of its body, if it is not refused before: so it changes nothing. */
function requestOf({ inputs }: World, { name, method, url }: Declared, slugs: Record<string, string>) {
  const { path = {}, query = {} } = inputs.get(name) ?? {};
  const named: Record<string, string> = { ...slugs, ...path };
  return {
    method,
    url: url.replace(/\{(\w+)\}/g, (_, one: string) => encodeURIComponent(String(named[one]))),
    ...(method === 'GET' ? { query } : { payload: { nonsense: 1 } }),
  };
}

/** What administrators of a part do not see by an id that others see. */
function hiddenFrom(
  world: World,
  declared: Declared,
  session: TestSession,
  environment: TestEnvironment,
): string | null {
  const { model } = world.main;
  const held = model.heldBy(session.person);
  const may = (capability: string) => model.may(held, capability, model.ofEnvironment(environment.id));
  switch (declared.example) {
    case 'listIdentityRoleAssignments':
      return may('env_roles.view') || may('identities.view') ? null : '404 identity.not_found';
    case 'assignRole':
    case 'unassignRole':
      return may('env_roles.manage') || may('identities.view') ? null : '404 identity.not_found';
    case 'getAuditLog':
    case 'getAuditRow':
    case 'getIdentityAuditRow': {
      const { node, about } = world.rows.get(declared.example)!;
      const place = node ? model.ofNode(node) : about;
      return model.may(held, 'audit.view', place) ? null : '404 audit.row_not_found';
    }
    default:
      return null;
  }
}

/** Compares what some operations answer somebody with the model. */
export async function compareOperations(world: World, count: number): Promise<void> {
  const { api, random, main, environments } = world;
  const portal = world.operations.filter(({ surface }) => surface === 'portal');
  for (let i = 0; i < count; i++) {
    const [declared, session] = [random.of(portal), random.of(world.sessions)];
    const environment = random.of([homeOf(world), ...environments]);
    const isUnknown = random.below(12) === 0;
    const slugs = {
      accountSlug: main.slug,
      appSlug: environment.appSlug,
      envSlug: isUnknown ? 'nowhere' : environment.slug,
    };
    const request = requestOf(world, declared, slugs);
    const named = { ...namedBy(world, environment), ...(isUnknown && { environment: null }) };
    const asked = askedBy(declared, world.inputs.get(declared.name)?.path);
    const refused =
      main.model.refusal(session, asked, named, nowOf(world)) ?? hiddenFrom(world, declared, session, environment);
    const answer = await api.app.inject({ ...request, headers: await headersOf(world, session) });
    const expected = refused ?? (await byFounder(world, request));
    const about = `${request.method} ${request.url}`;
    expect([about, told(answer)]).toEqual([about, expected]);
  }
}

const told = (answer: Parameters<typeof outcomeOf>[0]) =>
  answer.statusCode === 200 ? '200' : answer.statusCode === 401 ? '401' : outcomeOf(answer);

/** What the Owner is answered, who may do everything. */
async function byFounder(world: World, request: ReturnType<typeof requestOf>): Promise<string> {
  const answer = await world.api.app.inject({ ...request, headers: await headersOf(world, world.founder) });
  expect([request.url, answer.statusCode]).not.toEqual([request.url, 403]);
  return told(answer);
}

/** A key may do what its scopes say, however its maker's rights have changed since. */
export async function compareKeys(world: World, count: number): Promise<void> {
  const { api, random, keys, home } = world;
  const forServers = world.operations.filter(({ surface }) => surface === 'public');
  for (let i = 0; i < count && keys.length > 0; i++) {
    const [declared, { secret, scopes }] = [random.of(forServers), random.of(keys)];
    const request = requestOf(world, declared, {});
    const rule = declared.operation?.permission as PermissionRule;
    const enough = typeof rule === 'string' ? [rule] : rule.anyOf;
    const isAllowed = scopes === null || enough.some((one) => scopes.includes(one));
    const answer = await api.app.inject({ ...request, headers: { 'x-api-key': secret } });
    const expected = isAllowed
      ? told(await api.app.inject({ ...request, headers: home.headers.key }))
      : '403 api_key.scope_required';
    expect([declared.name, told(answer)]).toEqual([declared.name, expected]);
  }
}

/** Compares who administers an Account, with what, as everybody who may see it is shown. */
export async function compareAdministration(world: World, account: InAccount): Promise<void> {
  const { model } = account;
  const shown = ({ role_id, limits }: { role_id: string; limits: Limits | null }) =>
    `${role_id} ${JSON.stringify(limits && sorted(limits))}`;
  const meant = ({ held }: { held: { role: string; limits: Limits | null }[] }) =>
    held.map(({ role, limits }) => shown({ role_id: role, limits })).sort();
  expect(model.owners().length).toBeGreaterThan(0);
  const viewing = { level: 'account', capability: 'members.view' } as const;
  const session = world.sessions.find((one) => model.refusal(one, viewing, {}, nowOf(world)) === null);
  if (session) {
    const ask = (path: string) => call(world, session, account, ['GET', path]);
    const members = await everything<{ user_id: string; roles: Parameters<typeof shown>[0][] }>(ask, '/members');
    expect(members.map(({ user_id, roles }) => [user_id, roles.map(shown).sort()]).sort()).toEqual(
      [...model.members].map(([person, member]) => [person, meant(member)]).sort(),
    );
    const roles = await everything<{ id: string; capabilities: string[] }>(ask, '/administrator-roles');
    expect(roles.map(({ id, capabilities }) => `${id} ${[...capabilities].sort()}`).sort()).toEqual(
      [...model.roles].map(([id, { capabilities }]) => `${id} ${[...capabilities].sort()}`).sort(),
    );
    const invites = await everything<{ id: string; status: string }>(ask, '/administrator-invites');
    const known = new Map(invites.map(({ id, status }) => [id, status]));
    for (const one of model.invites) expect(known.get(one.id)).toBe(model.statusOf(one, nowOf(world)));
  }
}

interface Annotated {
  id: string;
  access_state: string;
  can_access: boolean;
  can_manage?: boolean;
}
const shownAs = ({ id, access_state, can_access, can_manage = false }: Annotated) =>
  `${id} ${access_state} ${can_access} ${can_manage}`;
const annotated = (id: string, isSeen: boolean, isManaged = false) =>
  shownAs({ id, access_state: isSeen ? 'accessible' : 'path_only', can_access: isSeen, can_manage: isManaged });

/** Compares what somebody sees of the main Account: everything that they may, and nothing else. */
export async function compareSight(world: World, session: TestSession): Promise<void> {
  const { main } = world;
  const { model } = main;
  const held = model.heldBy(session.person);
  const isAdmitted = (asked: Asked, named = {}) => model.refusal(session, asked, named, nowOf(world)) === null;
  const ask = (path: string) => call(world, session, main, ['GET', path]);
  if (!isAdmitted({ level: 'account', capability: null })) return;
  const { roles, capabilities } = (await ask('/me')).json().data;
  expect(roles.map(({ id }: { id: string }) => id).sort()).toEqual(held.map(({ role }) => role).sort());
  expect([...capabilities].sort()).toEqual([...model.capabilitiesAt(held, {})].sort());

  const viewing = model.allowing(held, 'applications.view');
  const touched = (place: object) => viewing.some(({ limits }) => model.touches(limits, place));
  if (viewing.length > 0) {
    const applications = await everything<Annotated>(ask, '/applications');
    const expected = [...model.applications].filter((application) => touched({ application }));
    const seen = (application: string) => model.may(held, 'applications.view', { application });
    expect(applications.map(shownAs).sort()).toEqual(expected.map((id) => annotated(id, seen(id))).sort());
  }
  for (const application of model.applications) {
    if (!isAdmitted({ level: 'application', capability: 'applications.view', inPart: true }, { application })) continue;
    const inside = world.environments.filter(({ id }) => model.environments.get(id) === application);
    const environments = await everything<Annotated>(ask, `/applications/${inside[0]!.appSlug}/environments`);
    const expected = inside.map(({ id }) => model.ofEnvironment(id)).filter(touched);
    expect(environments.map(shownAs).sort()).toEqual(
      expected.map((place) => annotated(place.environment!, model.may(held, 'applications.view', place))).sort(),
    );
  }
  await compareTree(world, session, world.random.of([homeOf(world), ...world.environments]));
}

async function compareTree(world: World, session: TestSession, environment: TestEnvironment): Promise<void> {
  const { model } = world.main;
  const held = model.heldBy(session.person);
  const ask = (path: string) => call(world, session, world.main, ['GET', `${pathOf(environment)}${path}`]);
  const isAdmitted = (capability: string, inPart: boolean) =>
    model.refusal(session, { level: 'environment', capability, inPart }, namedBy(world, environment), nowOf(world)) ===
    null;
  const nodes = [...model.nodes.keys()].filter((id) => model.nodes.get(id)?.environment === environment.id);
  const may = (capability: string) => (id: string) => model.may(held, capability, model.ofNode(id));
  const annotate = (id: string) => annotated(id, may('env_structure.view')(id), may('env_structure.manage')(id));
  if (isAdmitted('env_structure.view', true)) {
    const seen = nodes.filter(may('env_structure.view'));
    const listed = await everything<Annotated>(ask, '/nodes');
    expect(listed.map(shownAs).sort()).toEqual(seen.map(annotate).sort());
    type Branch = Annotated & { children: Branch[] };
    const flat = (one: Branch): Branch[] => [one, ...one.children.flatMap(flat)];
    const tree = flat((await ask('/nodes/tree')).json().data);
    const leading = nodes.filter((id) => seen.some((one) => model.isAtOrBelow(one, id)));
    expect(tree.map(shownAs).sort()).toEqual(leading.map(annotate).sort());
  }
  if (isAdmitted('env_organizations.view', true)) {
    const organizations = await everything<{ id: string }>(ask, '/organizations');
    const seen = nodes.filter(
      (id) => model.nodes.get(id)?.type === 'organization' && may('env_organizations.view')(id),
    );
    expect(organizations.map(({ id }) => id).sort()).toEqual(seen.sort());
  }
  if (environment.id === homeOf(world).id && isAdmitted('identities.view', false)) {
    const { data } = (await ask(`/identities/${world.given.identityId}/detail`)).json();
    expect(data.can_manage).toBe(isAdmitted('identities.manage', false));
  }
}

interface AuditRow {
  id: string;
  application_id: string | null;
  environment_id: string | null;
  resource_type: string;
  resource_id: string;
}

/** Compares the audit log that somebody sees with what the Owner sees, reduced to where the roles reach. */
export async function compareAuditLog(world: World, session: TestSession): Promise<void> {
  const { main } = world;
  const { model } = main;
  const asked: Asked = { level: 'account', capability: 'audit.view', inPart: true };
  if (model.refusal(session, asked, {}, nowOf(world)) !== null) return;
  const held = model.heldBy(session.person);
  const path = `/audit-log?${world.random.of(['resource_type=node', 'outcome=denied', 'resource_type=organization', 'category=configuration'])}`;
  const whole = await everything<AuditRow>((one) => call(world, world.founder, main, ['GET', one]), path);
  const isSeen = ({ application_id, environment_id, resource_type, resource_id }: AuditRow) =>
    model.may(held, 'audit.view', {
      ...(application_id && { application: application_id }),
      ...(environment_id && { environment: environment_id }),
      ...(['node', 'organization'].includes(resource_type) &&
        model.nodes.has(resource_id) && { path: model.path(resource_id) }),
    });
  const shown = await everything<AuditRow>((one) => call(world, session, main, ['GET', one]), path);
  expect(shown.map(({ id }) => id)).toEqual(whole.filter(isSeen).map(({ id }) => id));
}
