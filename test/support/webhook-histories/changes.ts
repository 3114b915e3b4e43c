import { days } from '../../../src/platform/clock.js';
import { kindsOfBehavior } from './behaviors.js';
import type { Subscription } from './model.js';
import type { Target } from './receivers.js';
import { change, expected, pathOf, type World } from './world.js';

/** Makes something happen, and tells the model. @returns what it was, for whoever reads of a failure */
export type Step = (world: World) => Promise<string>;

export const nothing = 'nothing to do it with';
export const short = (id: string) => id.slice(-6);
export const there = ({ model }: World) => model.subscriptions.filter(({ goneAt }) => goneAt === null);
export const webhookPath = (world: World, { id, environmentId }: Subscription) =>
  `${pathOf(world, environmentId)}/webhooks/${id}`;
/** Draws one, mostly one that is active. */
export function someOf(world: World): Subscription | undefined {
  const all = there(world);
  const active = all.filter(({ isActive }) => isActive);
  return world.random.of(active.length > 0 && world.random.below(5) > 0 ? active : all);
}
export function behaveAnyhow({ receivers, random }: World, target: Target): string {
  const behavior = random.of(random.of(kindsOfBehavior(receivers.trap)));
  receivers.behave(target, behavior);
  return target.fault ? (target.fault.error ?? '') : behavior.name;
}

function newTarget(world: World): Target {
  const { receivers, random } = world;
  const kind = random.below(6) === 0 ? random.below(receivers.unreachable) : undefined;
  const target = receivers.newTarget(random.below(2) === 0, kind);
  behaveAnyhow(world, target);
  return target;
}

const typesOf = ({ random }: World, environmentId: string | null) =>
  random.of([
    ['*'],
    ['*'],
    ['*'],
    ['role.created'],
    ['role.created', 'role.deleted'],
    ['webhook.disabled', 'webhook.created', 'permission.created'],
    environmentId ? ['permission.created'] : ['account.updated', 'environment.deleted', 'role.deleted'],
  ]);

let names = 0;
const name = () => `name${++names}`;

const happenings: ((world: World, base: string) => Promise<unknown>)[] = [
  async ({ owner }, base) => {
    const { id } = expected<{ id: string }>(await owner('POST', `${base}/roles`, { name: name() }), '201');
    expected(await owner('DELETE', `${base}/roles/${id}`, undefined, { 'if-match': '1' }), '204');
  },
  async ({ owner }, base) => expected(await owner('POST', `${base}/roles`, { name: name() }), '201'),
  async ({ owner }, base) =>
    expected(await owner('POST', `${base}/permissions`, { key: `${name()}.read`, name: 'Read' }), '201'),
  async ({ owner }) => expected(await owner('PATCH', '', { name: `Acme ${name()}` }), '200'),
];

export const happen: Step = async (world) => {
  const { random, places } = world;
  const count = random.between(1, 3);
  for (let i = 0; i < count; i++) {
    const base = pathOf(world, random.of([...places.values()]));
    await change(world, () => random.of(happenings)(world, base));
  }
  return `${count} things happen`;
};

/** Lets receivers change their mind, and something happen for them. */
export const behave: Step = async (world) => {
  const told = there(world).map(({ id, target }) =>
    world.random.below(3) > 0 ? `${short(id)} ${behaveAnyhow(world, target)}` : '',
  );
  return `receivers: ${told.filter(Boolean).join(', ')}; ${await happen(world)}`;
};

export const create: Step = async (world) =>
  there(world).length < 5 ? createAt(world, world.random.of([null, ...world.places.values()])) : nothing;

/** @param environmentId null: a subscription of the Account */
export async function createAt(world: World, environmentId: string | null): Promise<string> {
  const { random, model, owner } = world;
  const [target, types, isActive] = [newTarget(world), typesOf(world, environmentId), random.below(8) > 0];
  const payload = { url: target.url, event_types: types, is_active: isActive };
  return change(world, async () => {
    const answer = await owner('POST', `${pathOf(world, environmentId)}/webhooks`, payload);
    const { id, secret } = expected<{ id: string; secret: string }>(answer, '201');
    model.subscriptions.push({
      ...{ id, environmentId, types, isActive, target, paths: [target.path] },
      ...{ disabledReason: null, failingSince: null, goneAt: null },
      secrets: [{ secret, from: 0, until: Number.POSITIVE_INFINITY }],
    });
    return `${short(id)} of ${environmentId ? 'an Environment' : 'the Account'} to ${target.url} for ${types}`;
  });
}

type Changes = { url?: string; event_types?: string[]; is_active?: boolean };
async function patch(world: World, it: Subscription, changes: Changes, target = it.target): Promise<string> {
  await change(world, async () => {
    expected(await world.owner('PATCH', webhookPath(world, it), changes), '200');
    const { is_active: isActive = it.isActive, event_types: types = it.types } = changes;
    if (it.isActive && !isActive) world.model.stop(it, 'webhook_disabled', Date.now());
    const isAnew = (isActive && !it.isActive) || target !== it.target;
    Object.assign(it, { isActive, types, target });
    if (isAnew) it.failingSince = null;
    if (isActive) it.disabledReason = null;
    it.paths.push(target.path);
  });
  return `${short(it.id)}: ${JSON.stringify(changes)}`;
}

/** Makes a step of a change of one subscription. */
export const ofSome =
  (change: (world: World, it: Subscription) => Promise<string>): Step =>
  async (world) => {
    const it = someOf(world);
    return it ? change(world, it) : nothing;
  };

export function move(world: World, it: Subscription): Promise<string> {
  const target = newTarget(world);
  return patch(world, it, { url: target.url }, target);
}
export const switchIt = (world: World, it: Subscription) => patch(world, it, { is_active: !it.isActive });
export const retype = (world: World, it: Subscription) =>
  patch(world, it, { event_types: typesOf(world, it.environmentId) });

export const enableAll: Step = async (world) => {
  const all = there(world).filter(({ isActive }) => !isActive);
  if (all.length === 0) return nothing;
  for (const it of all) await patch(world, it, { is_active: true });
  return `${all.length} enabled`;
};

export async function remove(world: World, it: Subscription): Promise<string> {
  await change(world, async () => {
    expected(await world.owner('DELETE', webhookPath(world, it)), '204');
    it.goneAt = Date.now();
  });
  return `${short(it.id)} deleted`;
}

export async function rotate(world: World, it: Subscription): Promise<string> {
  await change(world, async () => {
    const answer = await world.owner('POST', `${webhookPath(world, it)}/rotate-secret`);
    const { secret } = expected<{ secret: string }>(answer, '200');
    const now = Date.now();
    const [last, ...older] = it.secrets;
    if (last) last.until = now + days(1);
    for (const each of older) each.until = Math.min(each.until, now);
    it.secrets.unshift({ secret, from: now, until: Number.POSITIVE_INFINITY });
  });
  return `${short(it.id)} has another secret`;
}
