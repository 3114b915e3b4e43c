import { endSomeStopped } from '../../../src/domain/webhooks/stops.js';
import { byWeight } from '../random-histories.js';
import { until } from '../until.js';
import { accepting, late } from './behaviors.js';
import {
  behave,
  behaveAnyhow,
  create,
  createAt,
  enableAll,
  happen,
  move,
  nothing,
  ofSome,
  remove,
  retype,
  rotate,
  type Step,
  short,
  switchIt,
  there,
  webhookPath,
} from './changes.js';
import { logOf, newcomers } from './compare.js';
import { cancel, cancelOne, cancelWorkflow, retry, retryAll, retryOne, test, wait } from './deliveries.js';
import type { Delivery, Subscription } from './model.js';
import { change, expected, type World } from './world.js';

const interruptions: readonly ((world: World, it: Subscription, delivery: Delivery) => Promise<string>)[] = [
  switchIt,
  move,
  move,
  remove,
  rotate,
  (world, _, delivery) => cancel(world, delivery),
  (world, _, delivery) => retry(world, delivery),
];

/** Has something happen to a delivery, or to its subscription, while its receiver thinks about it. */
const meanwhile: Step = async (world) => {
  const { receivers, model, random, owner } = world;
  const it = random.of(there(world).filter(({ isActive, target }) => isActive && !target.fault));
  if (!it) return nothing;
  const { target } = it;
  receivers.behave(target, late);
  const { id } = expected<{ id: string }>(await owner('POST', `${webhookPath(world, it)}/test`), '200');
  await until('the call', () => receivers.isWaiting(target));
  await newcomers(world, it, await logOf(world, it));
  const delivery = model.deliveries.get(id) as Delivery;
  delivery.underWay = { target, behavior: late };
  const then = behaveAnyhow(world, target); // of whatever else it gets
  const told = await random.of(interruptions)(world, it, delivery);
  const status = random.of([200, 204, 500, 410]);
  delivery.underWay.behavior = receivers.answer(target, status);
  return `while ${short(id)} is called: ${told}; answered ${status}, then ${then}`;
};

/** Has things happen while there is no worker. */
const withoutWorker: Step = async (world) => {
  await world.stopWorker();
  const told: string[] = [];
  const count = world.random.between(2, 4);
  for (let i = 0; i < count; i++) told.push(await world.random.of(possibleWithoutWorker)(world));
  world.startWorker();
  return `without a worker: ${told.join('; ')}`;
};

/** Lets a worker die during an attempt: the next process that looks makes it again. */
const death: Step = async (world) => {
  const { random, receivers, deaths, owner, model } = world;
  const it = random.of(there(world).filter(({ isActive, target }) => isActive && !target.fault));
  if (!it) return nothing;
  const when = random.of(['before the call', 'after the answer'] as const);
  const behavior = random.of(accepting);
  receivers.behave(it.target, behavior);
  deaths.await(when);
  const { id } = expected<{ id: string }>(await owner('POST', `${webhookPath(world, it)}/test`), '200');
  await until('the death', () => deaths.isOver());
  const isRepeated = async () => (await logOf(world, it)).some((each) => each.id === id && each.settled_at !== null);
  await until('another attempt', isRepeated);
  await newcomers(world, it, await logOf(world, it));
  const delivery = model.deliveries.get(id) as Delivery;
  delivery.deaths = 1;
  if (when === 'after the answer') delivery.unheard = 1;
  return `the worker dies ${when} of ${short(id)}: ${behavior.name}`;
};

/** Deletes an Environment with its subscriptions. */
const removeEnvironment: Step = async (world) => {
  const { places, owner, account, model, random } = world;
  const environmentId = places.get('production');
  if (!environmentId || random.below(3) > 0) return nothing;
  await change(world, async () => {
    const path = `/applications/${account.applicationSlug}/environments/production?confirm=production`;
    expected(await owner('DELETE', path), '204');
    for (const it of model.subscriptions)
      if (it.environmentId === environmentId && it.goneAt === null) it.goneAt = Date.now();
    places.delete('production');
  });
  return `production is deleted; ${await happen(world)}`;
};

/** Writes into deliveries what stopped them, as housekeeping does: nobody sees a difference. */
const keepHouse: Step = async ({ api }) => {
  let place: string | null = null;
  do place = (await endSomeStopped(api.database.db, place, 2)).next;
  while (place !== null);
  return 'housekeeping';
};

const possibleWithoutWorker = byWeight<Step>([
  [4, happen],
  [1, create],
  [1, ofSome(move)],
  [2, ofSome(switchIt)],
  [1, ofSome(retype)],
  [1, ofSome(remove)],
  [1, ofSome(rotate)],
  [1, ofSome(test)],
  [1, cancelOne],
]);

/** What can happen. */
const steps = byWeight<Step>([
  [8, behave],
  [3, happen],
  [3, create],
  [2, ofSome(move)],
  [2, ofSome(switchIt)],
  [1, enableAll],
  [1, ofSome(retype)],
  [1, ofSome(remove)],
  [2, ofSome(rotate)],
  [2, ofSome(test)],
  [3, retryOne],
  [2, retryAll],
  [2, cancelOne],
  [1, cancelWorkflow],
  [7, wait],
  [5, meanwhile],
  [1, withoutWorker],
  [2, death],
  [1, removeEnvironment],
  [1, keepHouse],
]);

/** Lets something happen; there are always a few subscriptions. */
export async function next(world: World): Promise<string> {
  const active = there(world).filter(({ isActive }) => isActive).length;
  if (active < 3 && world.random.below(2) === 0) {
    const told = await create(world);
    return told === nothing ? enableAll(world) : told;
  }
  for (;;) {
    const told = await world.random.of(steps)(world);
    if (told !== nothing) return told;
  }
}

/** Begins a history with subscriptions of the Account and of each Environment. */
export async function begin(world: World): Promise<void> {
  for (const environmentId of [null, ...world.places.values(), null]) await createAt(world, environmentId);
}
