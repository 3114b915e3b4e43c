import { randomInt } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentMembership } from '../../entities/environment-membership.js';
import { Identity } from '../../entities/identity.js';
import { RoleAssignment } from '../../entities/role-assignment.js';
import type { Check, Reason } from '../../src/domain/access/decisions/evaluate.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { createRandom } from '../support/random.js';
import { rowsOf } from '../support/rows.js';

/**
 * Compares the engine with a reference that uses no SQL and no paths: it walks from node to parent, and decides as
 * contract §5 says. The world is random; a failure's name contains its seed.
 */
let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
});
afterAll(() => api.stop());

interface ModelNode {
  id: string;
  parentId: string | null;
  isActive: boolean;
  version: number;
}
interface ModelAssignment {
  identityId: string;
  roleId: string;
  nodeId: string;
  effectiveFrom: Date | null;
  effectiveTo: Date | null;
  createdAt: Date;
  removedAt: Date | null;
}
interface Model {
  nodes: Map<string, ModelNode>;
  identities: Map<string, boolean>;
  roles: Map<string, { isActive: boolean; keys: string[] }>;
  assignments: ModelAssignment[];
  keys: string[];
}

function random(seed: number) {
  const { next, below, of } = createRandom(seed);
  return {
    below,
    of,
    chance: (probability: number) => next() < probability,
    some: <T>(items: readonly T[], probability: number) => items.filter(() => next() < probability),
  };
}

function reference(model: Model, { identityId, permission, nodeId }: Check, asOf: Date): Reason {
  const isActive = model.identities.get(identityId);
  if (isActive === undefined) return 'identity_not_found';
  const asked =
    nodeId === null ? [...model.nodes.values()].find((node) => node.parentId === null) : model.nodes.get(nodeId);
  if (!asked) return 'node_not_found';
  if (!model.keys.includes(permission)) return 'permission_not_found';
  if (!isActive) return 'identity_inactive';
  const way: ModelNode[] = [];
  for (
    let at: ModelNode | undefined = asked;
    at;
    at = at.parentId === null ? undefined : model.nodes.get(at.parentId)
  ) {
    way.push(at);
  }
  if (way.some((node) => !node.isActive)) return 'node_inactive';
  let best: Reason = 'no_assignment';
  for (const held of model.assignments) {
    if (held.identityId !== identityId || !way.some(({ id }) => id === held.nodeId)) continue;
    if (held.createdAt > asOf || (held.removedAt !== null && held.removedAt <= asOf)) continue;
    const role = model.roles.get(held.roleId);
    if (!role?.keys.includes(permission)) continue;
    const begun = held.effectiveFrom === null || held.effectiveFrom.getTime() <= asOf.getTime();
    const over = held.effectiveTo !== null && held.effectiveTo.getTime() <= asOf.getTime();
    if (begun && !over && role.isActive) return 'granted';
    if (begun && !over) best = 'role_inactive';
    else if (best === 'no_assignment') best = 'outside_window';
  }
  return best;
}

const call = (method: 'POST' | 'PATCH', path: string, status: number, payload: object, headers: object = {}) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers: { ...key, ...headers }, payload });

const hour = 3_600_000;

async function newWorld(rng: ReturnType<typeof random>, prefix: string): Promise<Model> {
  const now = api.clock.now;
  const { scope } = account;
  const { accountId, environmentId } = scope;
  const model: Model = { nodes: new Map(), identities: new Map(), roles: new Map(), assignments: [], keys: [] };
  const [root] = await rowsOf<{ id: string }>(
    api,
    'select id from nodes where environment_id = $1 and parent_node_id is null',
    [environmentId],
  );
  model.nodes.set(root?.id as string, { id: root?.id as string, parentId: null, isActive: true, version: 1 });
  for (let i = 0; i < 6; i++) {
    const name = `${prefix}.do${i}`;
    await call('POST', '/permissions', 201, { key: name, name });
    model.keys.push(name);
  }
  for (let i = 0; i < 5; i++) {
    const keys = rng.some(model.keys, 0.4);
    const isActive = rng.chance(0.8);
    const payload = { name: `${prefix} role ${i}`, permission_keys: keys, is_active: isActive };
    model.roles.set((await call('POST', '/roles', 201, payload)).json().data.id, { isActive, keys });
  }
  for (let i = 0; i < 40; i++) {
    const parentId = rng.of([...model.nodes.keys()]);
    const payload = { parent_node_id: parentId, node_type: 'unit', name: `${prefix} ${i}` };
    const { id, version } = (await call('POST', '/nodes', 201, payload)).json().data;
    model.nodes.set(id, { id, parentId, isActive: true, version });
  }
  await api.database.db.transaction({ accountId, environmentId }, async (tx) => {
    for (let i = 0; i < 12; i++) {
      const id = uuidv7();
      const isActive = i > 1 && rng.chance(0.9); // every world has inactive ones
      await tx.insert(Identity, {
        id,
        accountId,
        email: `${id}@example.com`,
        emailVerifiedAt: now,
        metadata: {},
        createdAt: now,
        updatedAt: now,
      });
      await tx.insert(EnvironmentMembership, {
        id: uuidv7(),
        accountId,
        environmentId,
        identityId: id,
        isActive,
        lockedUntil: null,
        createdAt: now,
      });
      model.identities.set(id, isActive);
    }
    for (let i = 0; i < 120; i++) {
      const bound = (probability: number) =>
        rng.chance(probability) ? new Date(now.getTime() + (rng.below(9) - 4) * hour) : null;
      const [from, to] = [bound(0.5), bound(0.5)];
      if (from && to && from >= to) continue;
      const held: ModelAssignment = {
        identityId: rng.of([...model.identities.keys()]),
        roleId: rng.of([...model.roles.keys()]),
        nodeId: rng.of([...model.nodes.keys()]),
        effectiveFrom: from,
        effectiveTo: to,
        createdAt: new Date(now.getTime() - rng.below(6) * hour),
        removedAt: rng.chance(0.15) ? new Date(now.getTime() - rng.below(4) * hour) : null,
      };
      const clash = (a: ModelAssignment, b: ModelAssignment) =>
        a.removedAt === null &&
        b.removedAt === null &&
        a.identityId === b.identityId &&
        a.roleId === b.roleId &&
        a.nodeId === b.nodeId;
      if (model.assignments.some((other) => clash(held, other))) continue;
      await tx.insert(RoleAssignment, { id: uuidv7(), accountId, environmentId, ...held });
      model.assignments.push(held);
    }
  });
  return model;
}

/** Moves and switches nodes over the API; a refused request (a cycle) changes nothing in the model either. */
async function disturb(model: Model, rng: ReturnType<typeof random>) {
  const below = [...model.nodes.values()].filter((node) => node.parentId !== null);
  for (let i = 0; i < 8; i++) {
    const node = rng.of(below);
    const change = rng.chance(0.5)
      ? { parent_node_id: rng.of([...model.nodes.keys()]) }
      : { status: node.isActive && rng.chance(0.5) ? 'inactive' : 'active' };
    const response = await api.app.inject({
      method: 'PATCH',
      url: `/api/v1/nodes/${node.id}`,
      headers: { ...key, 'if-match': `"${node.version}"` },
      payload: change,
    });
    if (response.statusCode !== 200) continue;
    const { data } = response.json();
    Object.assign(node, { parentId: data.parent_node_id, isActive: data.status === 'active', version: data.version });
  }
}

function someChecks(model: Model, rng: ReturnType<typeof random>, count: number): Check[] {
  return Array.from({ length: count }, () => ({
    identityId: rng.chance(0.03) ? uuidv7() : rng.of([...model.identities.keys()]),
    permission: rng.chance(0.03) ? 'no.such' : rng.of(model.keys),
    nodeId: rng.chance(0.1) ? null : rng.chance(0.03) ? uuidv7() : rng.of([...model.nodes.keys()]),
  }));
}

const seeds = Array.from({ length: 3 }, () => randomInt(1, 2 ** 31 - 1));
test.each(seeds)('thousands of random checks are decided as the contract says (seed %i)', async (seed) => {
  const rng = random(seed);
  const model = await newWorld(rng, `s${seed}`);
  const { environmentId } = account.scope;
  const reasons = new Map<Reason, number>();
  for (let round = 0; round < 4; round++) {
    for (const hours of [0, 0, -2, 3]) {
      const asOf = new Date(api.clock.now.getTime() + hours * hour);
      const checks = someChecks(model, rng, 250);
      const decisions = await api.services.evaluation.evaluate(environmentId, checks, asOf);
      const expected = checks.map((check) => reference(model, check, asOf));
      expect(decisions.map(({ reason }) => reason)).toEqual(expected);
      expect(decisions.every(({ allowed, reason }) => allowed === (reason === 'granted'))).toBe(true);
      for (const reason of expected) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      // Explaining is a separate statement with the same rules: the two never differ.
      for (const check of checks.slice(0, 20)) {
        const explanation = await api.services.explanations.explain(environmentId, check, asOf);
        expect(explanation.reason).toBe(reference(model, check, asOf));
        expect(explanation.decision !== null).toBe(explanation.allowed);
        expect(explanation.reasons.length).toBeGreaterThan(0);
      }
    }
    await disturb(model, rng);
  }
  // A world in which nothing is granted, or nothing denied, would prove nothing.
  for (const reason of ['granted', 'no_assignment', 'outside_window', 'identity_inactive'] as const) {
    expect(reasons.get(reason) ?? 0).toBeGreaterThan(10);
  }
});
