import fc from 'fast-check';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { AccessModel, type HeldRole } from '../../support/access-model.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { allEnded } from '../../support/audit-events.js';
import { type IdentityCaller, newIdentityCaller } from '../../support/identity-caller.js';
import { type Calls, callsWith, rootOf } from '../../support/nodes.js';

/**
 * Random histories of permissions in a small Environment, compared with the contract's rules (§5, §10) in their
 * plainest form.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const hour = 3_600_000;

const customKeys = ['door.open', 'door.lock', 'hierarchy.view'];
const [node, role, person, key] = [fc.nat(), fc.nat(), fc.nat(), fc.nat()];
const keys = fc.uniqueArray(fc.constantFrom(...customKeys));
/** True in four of five cases. */
const mostly = fc.nat(4).map((n) => n > 0);
/** Hours from now; null is unbounded. */
const bound = fc.option(fc.integer({ min: -3, max: 3 }), { freq: 2 });
const of = <K extends string, R extends object>(kind: K, fields: { [P in keyof R]: fc.Arbitrary<R[P]> }) =>
  fc.record(fields).map((some) => ({ kind, ...(some as R) }));
const step = fc.oneof(
  { weight: 4, arbitrary: of('makeNode', { node, isActive: mostly }) },
  { weight: 3, arbitrary: of('move', { node, to: node }) },
  { weight: 2, arbitrary: of('setNode', { node, isActive: fc.boolean() }) },
  { weight: 1, arbitrary: of('removeNode', { node }) },
  { weight: 2, arbitrary: of('makeRole', { keys, isActive: mostly }) },
  { weight: 2, arbitrary: of('setRole', { role, isActive: fc.boolean() }) },
  { weight: 2, arbitrary: of('setKeys', { role, keys }) },
  { weight: 1, arbitrary: of('removeRole', { role }) },
  { weight: 1, arbitrary: of('togglePermission', { key }) },
  { weight: 10, arbitrary: of('give', { person, role, node, from: bound, to: bound, inBulk: fc.boolean() }) },
  { weight: 4, arbitrary: of('take', { at: fc.nat(), inBulk: fc.boolean() }) },
  { weight: 2, arbitrary: of('setPerson', { person, isActive: fc.boolean() }) },
  { weight: 1, arbitrary: of('togglePerson', { person }) },
  { weight: 2, arbitrary: of('wait', { hours: fc.integer({ min: 1, max: 2 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface World {
  key: Calls;
  authzen: Calls;
  model: AccessModel;
  /** The ids of the permissions that exist, by their keys. */
  permissions: Map<string, string>;
  root: string;
  /** Current and former members. */
  people: Set<string>;
  caller: IdentityCaller;
}

async function newWorld(): Promise<World> {
  const account = await newAccount(api);
  const headers = await account.apiKey();
  const [key, authzen] = [callsWith(api, headers), callsWith(api, headers, '/access/v1')];
  const root = (await rootOf(key)).id;
  const permissions = new Map<string, string>();
  for (const { id, key: named } of (await key('GET', '/permissions?take=100')).json().items) permissions.set(named, id);
  for (const named of customKeys.slice(0, 2)) {
    permissions.set(named, (await key('POST', '/permissions', { key: named, name: named })).json().data.id);
  }
  const model = new AccessModel(root, new Set(permissions.keys()));
  const caller = await newIdentityCaller(api, account);
  const people = new Set([caller.id, await newPerson(key), await newPerson(key)]);
  for (const id of people) model.people.set(id, { isActive: true });
  return { key, authzen, model, permissions, root, people, caller };
}

const newPerson = async (key: Calls): Promise<string> =>
  (await key('POST', '/identities', { email: `${uuidv7()}@example.com` })).json().data.id;

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const pick = <T>(all: Iterable<T>, n: number): T | undefined => {
  const list = [...all];
  return list[n % list.length];
};

/** How an assignment of one is answered that is not part of a bulk. */
const answerTo = {
  created: '201',
  exists: '200',
  'role_assignments.overlapping': '409 role_assignments.overlapping',
  'role_assignments.window_empty': '400 role_assignments.window_empty',
};

/** Carries out one step in the service and in the model; the outcome has to be the model's. */
async function take({ key, model, permissions, root, people, caller }: World, each: Step): Promise<void> {
  const at = api.clock.now.getTime();
  switch (each.kind) {
    case 'makeNode': {
      const parent = pick(model.nodes.keys(), each.node) as string;
      const more = { name: 'Unit', status: each.isActive ? 'active' : 'inactive' };
      const answer = await key('POST', '/nodes', {
        parent_node_id: parent,
        node_type: 'unit',
        slug: `u-${uuidv7()}`,
        ...more,
      });
      expect(outcomeOf(answer)).toBe('201');
      model.nodes.set(answer.json().data.id, { parent, type: 'unit', isActive: each.isActive, version: 1 });
      return;
    }
    case 'move': {
      const id = pick(model.nodes.keys(), each.node) as string;
      const to = pick(model.nodes.keys(), each.to) as string;
      const moved = model.nodes.get(id)!;
      if (id === root || moved.parent === to || model.path(to).includes(id)) return;
      expect(outcomeOf(await key('POST', `/nodes/${id}/move`, { parent_node_id: to }, moved.version))).toBe('200');
      model.nodes.set(id, { ...moved, parent: to, version: moved.version + 1 });
      return;
    }
    case 'setNode': {
      const id = pick(model.nodes.keys(), each.node) as string;
      const one = model.nodes.get(id)!;
      const status = each.isActive ? 'active' : 'inactive';
      const expected = id === root && !each.isActive ? '400 nodes.root_fixed' : '200';
      expect(outcomeOf(await key('PATCH', `/nodes/${id}`, { status }, one.version))).toBe(expected);
      if (expected === '200' && one.isActive !== each.isActive)
        model.nodes.set(id, { ...one, isActive: each.isActive, version: one.version + 1 });
      return;
    }
    case 'removeNode': {
      const id = pick(model.nodes.keys(), each.node) as string;
      if (id === root) return;
      const { version } = model.nodes.get(id)!;
      expect(outcomeOf(await key('DELETE', `/nodes/${id}?cascade=true`, undefined, version))).toBe('204');
      model.remove(id);
      return;
    }
    case 'makeRole': {
      const permission_keys = each.keys.filter((one) => model.keys.has(one));
      const answer = await key('POST', '/roles', { name: uuidv7(), permission_keys, is_active: each.isActive });
      expect(outcomeOf(answer)).toBe('201');
      model.roles.set(answer.json().data.id, { isActive: each.isActive, keys: new Set(permission_keys), version: 1 });
      return;
    }
    case 'setRole': {
      const id = pick(model.roles.keys(), each.role);
      const one = id && model.roles.get(id);
      if (!one) return;
      expect(outcomeOf(await key('PATCH', `/roles/${id}`, { is_active: each.isActive }, one.version))).toBe('200');
      if (one.isActive !== each.isActive) one.version += 1;
      one.isActive = each.isActive;
      return;
    }
    case 'setKeys': {
      const id = pick(model.roles.keys(), each.role);
      const one = id && model.roles.get(id);
      if (!one) return;
      const permission_keys = each.keys.filter((named) => model.keys.has(named));
      const answer = await key('PUT', `/roles/${id}/permissions`, { permission_keys }, one.version);
      expect(outcomeOf(answer)).toBe('200');
      if ([...one.keys].sort().join() !== [...permission_keys].sort().join()) one.version += 1;
      one.keys = new Set(permission_keys);
      expect(answer.headers.etag).toBe(`"${one.version}"`);
      return;
    }
    case 'removeRole': {
      const id = pick(model.roles.keys(), each.role);
      const one = id && model.roles.get(id);
      if (!one) return;
      const isHeld = model.notEnded(at).some((held) => held.role === id);
      const answer = await key('DELETE', `/roles/${id}`, undefined, one.version);
      expect(outcomeOf(answer)).toBe(isHeld ? '409 role.in_use' : '204');
      if (isHeld) return;
      model.roles.delete(id);
      model.held = model.held.filter((held) => held.role !== id);
      return;
    }
    case 'togglePermission': {
      const named = customKeys[each.key % 2] as string;
      const id = permissions.get(named);
      if (id === undefined) {
        permissions.set(named, (await key('POST', '/permissions', { key: named, name: named })).json().data.id);
        model.keys.add(named);
        return;
      }
      expect(outcomeOf(await key('DELETE', `/permissions/${id}`, undefined, 1))).toBe('204');
      permissions.delete(named);
      model.keys.delete(named);
      for (const role of model.roles.values()) if (role.keys.delete(named)) role.version += 1;
      return;
    }
    case 'give': {
      const identity = pick(model.people.keys(), each.person);
      const roleId = pick(model.roles.keys(), each.role);
      const nodeId = pick(model.nodes.keys(), each.node) as string;
      if (!identity || !roleId) return;
      const [from, to] = [each.from, each.to].map((hours) => (hours === null ? null : at + hours * hour)) as [
        null,
        null,
      ];
      const wanted = { identity, role: roleId, node: nodeId, from, to };
      const body = { role_id: roleId, node_id: nodeId, effective_from: iso(from), effective_to: iso(to) };
      const outcome = model.isEmpty(wanted, at) ? 'role_assignments.window_empty' : model.giving(wanted);
      let id: string;
      if (each.inBulk) {
        const answer = await key('POST', '/role-assignments', {
          role_assignments: [{ identity_id: identity, ...body }],
        });
        const [item] = answer.json().items;
        expect(item.error?.code ?? item.status).toBe(outcome);
        id = item.id;
      } else {
        const answer = await key('POST', `/identities/${identity}/role-assignments`, body);
        expect(outcomeOf(answer)).toBe(answerTo[outcome]);
        id = answer.json().data?.assignment_id;
      }
      if (outcome === 'created') model.held.push({ id, ...wanted, made: at, removed: null });
      return;
    }
    case 'take': {
      const one = pick(model.held, each.at);
      if (!one || !model.people.has(one.identity)) return;
      const isThere = one.removed === null;
      if (each.inBulk) {
        const answer = await key('DELETE', '/role-assignments', { assignment_ids: [one.id, one.id] });
        const said = answer.json().items.map((item: { status: string }) => item.status);
        expect(said[0]).toBe(isThere ? 'removed' : 'failed');
      } else {
        const answer = await key('DELETE', `/identities/${one.identity}/role-assignments/${one.id}`);
        expect(outcomeOf(answer)).toBe(isThere ? '204' : '404 role_assignments.not_found');
      }
      one.removed ??= at;
      return;
    }
    case 'setPerson': {
      const id = pick(model.people.keys(), each.person);
      const one = id && model.people.get(id);
      if (!one) return;
      const path = `/identities/${id}/${each.isActive ? 'activate' : 'deactivate'}`;
      expect(outcomeOf(await key('POST', path))).toBe('200');
      one.isActive = each.isActive;
      return;
    }
    case 'togglePerson': {
      const id = pick(people, each.person) as string;
      if (id === caller.id) return;
      if (model.people.has(id)) {
        expect(outcomeOf(await key('DELETE', `/identities/${id}`))).toBe('204');
        model.leave(id);
        return;
      }
      const made = await newPerson(key);
      people.delete(id);
      people.add(made);
      model.people.set(made, { isActive: true });
      return;
    }
    case 'wait':
      api.clock.advance(each.hours * hour);
  }
}

interface Check {
  identity_id: string;
  permission: string;
  node_id: string;
}

/** Compares every way in which the service shows permissions with the model. */
async function compare(world: World): Promise<void> {
  const { key, model, permissions, root, people, caller } = world;
  const now = api.clock.now.getTime();
  const nodes = [...model.nodes.keys(), uuidv7()];
  const checks: Check[] = [...people].flatMap((identity_id) =>
    [...customKeys, 'door.unknown'].flatMap((permission) =>
      nodes.map((node_id) => ({ identity_id, permission, node_id })),
    ),
  );
  const reasonOf = (one: Check, at: number) => model.reason(one.identity_id, one.permission, one.node_id, at);
  for (const at of [null, -3, -1, 1, 2].map((hours) => (hours === null ? null : now + hours * hour))) {
    const asked = { checks: checks.slice(0, 1000), ...(at !== null && { as_of: iso(at) }) };
    const answer = await key('POST', '/authorization/evaluate/bulk', asked);
    expect(outcomeOf(answer)).toBe('200');
    const said = answer.json().data.results.map(({ reason }: { reason: string }) => reason);
    expect(said).toEqual(asked.checks.map((one) => reasonOf(one, at ?? now)));
  }
  // Explained, and as AuthZEN decides: some checks for each reason.
  const some = new Map<string, Check[]>();
  for (const one of checks) some.set(reasonOf(one, now), [...(some.get(reasonOf(one, now)) ?? []), one]);
  for (const [reason, all] of some) {
    for (const one of all.filter((_, i) => i % Math.ceil(all.length / 6) === 0)) {
      const { data } = (await key('POST', '/authorization/explain', one)).json();
      expect([data.reason, data.allowed]).toEqual([reason, reason === 'granted']);
      if (reason !== 'granted') expect(data.decision).toBeNull();
      else {
        const held = model.held.find(({ id }) => id === data.decision.assignment_id)!;
        expect(model.path(held.node)).toEqual(data.decision.path.map(({ id }: { id: string }) => id));
        expect(model.path(one.node_id)).toContain(held.node);
      }
      const asked = {
        subject: { type: 'identity', id: one.identity_id },
        action: { name: one.permission },
        resource: { type: 'node', id: one.node_id },
      };
      const decided = (await world.authzen('POST', '/evaluation', asked)).json();
      expect(decided).toEqual({ decision: reason === 'granted', context: { reason } });
    }
  }
  const everybody = [...model.people.keys()];
  const effective = (identity: string, at: string) =>
    [...model.keys].filter((one) => model.allows(identity, one, at, now)).sort();
  for (const identity of everybody) {
    for (const at of model.nodes.keys()) {
      const { data } = (await key('GET', `/identities/${identity}/effective-permissions?node_id=${at}`)).json();
      expect(data.permissions).toEqual(effective(identity, at));
    }
    for (const named of customKeys) {
      const answer = await key('GET', `/identities/${identity}/permission-locations?permission=${named}`);
      if (!model.keys.has(named)) {
        expect(outcomeOf(answer)).toBe('404 permission.not_found');
        continue;
      }
      const found = answer.json().data.locations.map(({ node_id }: { node_id: string }) => node_id);
      const reached = [...model.nodes.keys()].filter((at) => found.some((one: string) => model.path(at).includes(one)));
      const allowed = [...model.nodes.keys()].filter((at) => model.allows(identity, named, at, now));
      expect(reached.filter(model.isOpen)).toEqual(allowed);
      // Topmost: none is below another.
      expect(
        found.filter((one: string) => found.some((b: string) => b !== one && model.path(one).includes(b))),
      ).toEqual([]);
    }
    const held = model.notEnded(now).filter((one) => one.identity === identity);
    const { data } = (await key('GET', `/identities/${identity}/detail`)).json();
    const shown = data.roles.map((one: { assignment_id: string }) => one.assignment_id).sort();
    expect(shown).toEqual(held.map(({ id }) => id).sort());
    const listed = (await key('GET', `/identities/${identity}/role-assignments?take=100`)).json();
    const kept = model.held.filter((one) => one.identity === identity && one.removed === null);
    expect(listed.items.map((one: { assignment_id: string }) => one.assignment_id).sort()).toEqual(
      kept.map(({ id }) => id).sort(),
    );
    expect(listed.pagination.item_count).toBe(kept.length);
  }
  const idsOf = (answer: { json(): { items: { id: string }[] } }) =>
    answer
      .json()
      .items.map(({ id }) => id)
      .sort();
  const holders = (of: (one: HeldRole) => boolean) =>
    [
      ...new Set(
        model
          .notEnded(now)
          .filter(of)
          .map(({ identity }) => identity),
      ),
    ].sort();
  for (const [id, { keys: held, isActive }] of model.roles) {
    expect(idsOf(await key('GET', `/identities/with-roles?role_id=${id}&take=100`))).toEqual(
      holders((one) => one.role === id),
    );
    const { data } = (await key('GET', `/roles/${id}`)).json();
    expect(data).toMatchObject({
      member_count: holders((one) => one.role === id).length,
      permission_count: held.size,
      is_active: isActive,
    });
  }
  const none = everybody.filter((id) => !model.notEnded(now).some(({ identity }) => identity === id)).sort();
  expect(idsOf(await key('GET', '/identities/with-roles?role_id=no_assignment&take=100'))).toEqual(none);
  for (const at of model.nodes.keys()) {
    expect(idsOf(await key('GET', `/nodes/${at}/identities?take=100`))).toEqual(holders((one) => one.node === at));
  }
  for (const [named, id] of permissions) {
    if (!customKeys.slice(0, 2).includes(named)) continue;
    const roles = (await key('GET', `/permissions/${id}/usage`)).json().items as {
      id: string;
      assignment_count: number;
    }[];
    const expected = [...model.roles].filter(([, { keys: held }]) => held.has(named)).map(([one]) => one);
    expect(roles.map((one) => one.id).sort()).toEqual(expected.sort());
    for (const one of roles)
      expect(one.assignment_count).toBe(model.notEnded(now).filter((held) => held.role === one.id).length);
  }
  // What an end user sees of the tree, and what their token contains.
  if (!model.people.get(caller.id)?.isActive) return;
  const payload = {
    client_id: caller.clientId,
    email: caller.email,
    password: caller.password,
    scope: 'openid permissions',
  };
  const signedIn = await api.app.inject({ method: 'POST', url: '/v1/identity/auth/login', payload });
  const token = signedIn.json().data.access_token;
  expect(decodeJwt(token).permissions).toEqual(effective(caller.id, root));
  const own = callsWith(api, { authorization: `Bearer ${token}` });
  const seen = [...model.nodes.keys()].filter((at) => model.allows(caller.id, 'hierarchy.view', at, now));
  const list = await own('GET', '/nodes?take=100');
  // What is held only at an inactive node is held, and shows nothing.
  const isAnywhere = model
    .notEnded(now)
    .filter(({ identity, from }) => identity === caller.id && (from === null || from <= now))
    .some((one) => model.roles.get(one.role)?.isActive && model.roles.get(one.role)?.keys.has('hierarchy.view'));
  expect(outcomeOf(list)).toBe(isAnywhere ? '200' : '403 permission.required');
  if (isAnywhere) {
    expect(idsOf(list)).toEqual(seen.sort());
    expect(list.json().pagination.item_count).toBe(seen.length);
  }
  for (const at of model.nodes.keys()) {
    const answer = await own('GET', `/nodes/${at}`);
    if (seen.includes(at)) expect(outcomeOf(answer)).toBe('200');
    else expect(answer.statusCode).toBeGreaterThanOrEqual(403);
  }
}

/** Checks that AuthZEN's three searches agree with its decisions. */
async function compareSearches({ model, people, authzen }: World): Promise<void> {
  const now = api.clock.now.getTime();
  const found = async (path: string, body: object): Promise<string[]> => {
    const all: string[] = [];
    let next: string | undefined;
    do {
      const page = { limit: 3, ...(next && { token: next }) };
      const answer = await authzen('POST', `/search/${path}`, { ...body, page });
      expect(outcomeOf(answer)).toBe('200');
      const json = answer.json();
      all.push(...json.results.map((one: { id?: string; name?: string }) => one.id ?? one.name));
      next = json.page.next_token;
    } while (next);
    return all;
  };
  for (const named of customKeys) {
    for (const at of model.nodes.keys()) {
      const body = { subject: { type: 'identity' }, action: { name: named }, resource: { type: 'node', id: at } };
      expect(await found('subject', body)).toEqual([...people].filter((id) => model.allows(id, named, at, now)).sort());
    }
    for (const id of people) {
      const body = { subject: { type: 'identity', id }, action: { name: named }, resource: { type: 'node' } };
      const expected = [...model.nodes.keys()].filter((at) => model.allows(id, named, at, now)).sort();
      expect(await found('resource', body)).toEqual(expected);
    }
  }
}

interface Change {
  type: string;
  resource_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: each type has fields of its own, and all are compared
  data: any;
}

/** Returns what the change feed alone says of a tree and its permissions; each of its items has to change something. */
async function replayed(key: Calls, root: string) {
  const nodes = new Map([[root, { parent: null as string | null, isActive: true, version: 1 }]]);
  const roles = new Map<string, { isActive: boolean; keys: Set<string> }>();
  const identities = new Map<string, { isActive: boolean }>();
  const held = new Map<string, Change['data']>();
  const tell = ({ type, resource_id: id, data }: Change) => {
    if (/^node\.(created|updated|moved)$/.test(type)) {
      const next = { parent: data.parent_node_id, isActive: data.status === 'active', version: data.version };
      expect(next.version).toBe((nodes.get(id)?.version ?? 0) + 1);
      nodes.set(id, next);
    } else if (type === 'node.deleted') expect(nodes.delete(id)).toBe(true);
    else if (type === 'role.created') roles.set(id, { isActive: data.is_active, keys: new Set(data.permission_keys) });
    else if (type === 'role.updated') {
      const one = roles.get(id)!;
      expect([...(data.added ?? []), ...(data.removed ?? []), ...(data.changed ?? [])]).not.toEqual([]);
      for (const named of data.removed ?? []) expect(one.keys.delete(named)).toBe(true);
      for (const named of data.added ?? []) one.keys.add(named);
      one.isActive = data.is_active ?? one.isActive;
    } else if (type === 'role.deleted') {
      expect(roles.delete(id)).toBe(true);
      for (const { role_id } of held.values()) expect(role_id).not.toBe(id); // each had its own change
    } else if (type === 'permission.deleted') {
      for (const one of roles.values()) expect(one.keys).not.toContain(data.key); // each had its own change
    } else if (type === 'role_assignment.created') held.set(id, data);
    else if (type === 'role_assignment.deleted') expect(held.delete(id)).toBe(true);
    else if (type === 'identity.created') identities.set(id, { isActive: true });
    else if (type === 'identity.deleted') expect(identities.delete(id)).toBe(true);
    else if (/^identity\.(de)?activated$/.test(type)) {
      expect(identities.get(id)?.isActive).toBe(type === 'identity.deactivated');
      identities.set(id, { isActive: type === 'identity.activated' });
    }
  };
  await allEnded(api);
  let page = { items: [] as Change[], next_cursor: '', has_more: true };
  while (page.has_more) {
    const cursor = page.next_cursor && `&cursor=${page.next_cursor}`;
    page = (await key('GET', `/changes?limit=1000${cursor}`)).json();
    for (const each of page.items) tell(each);
  }
  return { nodes, roles, identities, held };
}

const entriesOf = <T>(of: Map<string, T>) => [...of].sort(([one], [other]) => (one < other ? -1 : 1));

/** Checks that a copy kept by the change feed equals what exists. */
async function compareFeed({ key, model, root }: World): Promise<void> {
  const copy = await replayed(key, root);
  expect(entriesOf(copy.nodes)).toEqual(entriesOf(model.nodes).map(([id, { type: _, ...node }]) => [id, node]));
  expect(entriesOf(copy.roles)).toEqual(
    entriesOf(model.roles).map(([id, { isActive, keys: held }]) => [id, { isActive, keys: held }]),
  );
  expect(entriesOf(copy.identities)).toEqual(entriesOf(model.people));
  const held = new Map(
    model.held
      .filter(({ removed }) => removed === null)
      .map(({ id, identity, role: role_id, node: node_id, from, to }) => [
        id,
        { identity_id: identity, role_id, node_id, effective_from: iso(from), effective_to: iso(to) },
      ]),
  );
  expect(entriesOf(copy.held)).toEqual(entriesOf(held));
}

test('whatever happens to a tree, its roles and their holders, every answer about permissions is the contract’s', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
    const world = await newWorld();
    await take(world, { kind: 'makeRole', keys: customKeys, isActive: true });
    for (const each of steps) await take(world, each);
    await compare(world);
    await compareSearches(world);
    await compareFeed(world);
  });
  // Each run creates an Environment: shrinking a failure would take minutes.
  await fc.assert(property, { numRuns: 3, seed: 20_261_123, endOnFailure: true });
}, 600_000);
