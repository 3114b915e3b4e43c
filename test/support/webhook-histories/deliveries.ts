import { days, hours } from '../../../src/platform/clock.js';
import { outcomeOf } from '../answers.js';
import { until } from '../until.js';
import { nothing, type Step, short, someOf, webhookPath } from './changes.js';
import type { Delivery, Subscription } from './model.js';
import { age, expected, type World } from './world.js';

export function someDelivery(world: World, fits: (delivery: Delivery) => boolean = () => true): Delivery | undefined {
  const all = [...world.model.deliveries.values()].filter((each) => each.subscription.goneAt === null);
  const fitting = all.filter(fits);
  return world.random.of(fitting.length > 0 && world.random.below(6) > 0 ? fitting : all);
}
const deliveryPath = (world: World, { id, subscription }: Delivery) =>
  `${webhookPath(world, subscription)}/deliveries/${id}`;

export async function test(world: World, it: Subscription): Promise<string> {
  const answer = await world.owner('POST', `${webhookPath(world, it)}/test`);
  expected(answer, it.isActive ? '200' : '409 webhook.inactive');
  return `${short(it.id)} tested: ${outcomeOf(answer)}`;
}
export async function retry(world: World, delivery: Delivery): Promise<string> {
  const { subscription, id, status } = delivery;
  const isInPortal = world.random.below(3) === 0;
  const path = isInPortal ? `/processes/${id}/retry` : `${deliveryPath(world, delivery)}/retry`;
  const asked = Date.now();
  const answer = await until('its former run has stopped', async () => {
    const one = await world.owner('POST', path);
    return one.statusCode !== 503 && one;
  });
  const isLate = isInPortal && !['failed', 'cancelled'].includes(status);
  const right = isLate ? '409 process.not_failed' : subscription.isActive ? '200' : '409 webhook.inactive';
  expected(answer, right);
  if (right === '200') world.model.ask(delivery, asked);
  return `${short(id)} (${status}) retried: ${outcomeOf(answer)}`;
}
export const retryOne: Step = async (world) => {
  const delivery = someDelivery(world, ({ subscription }) => subscription.isActive);
  return delivery ? retry(world, delivery) : nothing;
};
export const retryAll: Step = async (world) => {
  const it = someOf(world);
  const unsent = [...world.model.deliveries.values()].filter(
    ({ subscription, status }) => subscription === it && status !== 'succeeded',
  );
  if (unsent.length === 0) return nothing;
  const told: string[] = [];
  for (const delivery of unsent.slice(0, 5)) told.push(await retry(world, delivery));
  return `all: ${told.join(', ')}`;
};

const waits = ({ status }: Delivery) => status === 'pending';
export async function cancel({ owner, model }: World, delivery: Delivery): Promise<string> {
  const answer = await owner('POST', `/processes/${delivery.id}/cancel`, { reason: 'not wanted' });
  expected(answer, waits(delivery) ? '200' : '409 process.not_running');
  if (waits(delivery)) {
    const endedReason = 'cancelled_by_operator';
    Object.assign(model.deliveries.get(delivery.id)!, { status: 'cancelled', endedReason, endedAt: Date.now() });
  }
  return `${short(delivery.id)} cancelled: ${outcomeOf(answer)}`;
}
export const cancelOne: Step = async (world) => {
  const delivery = someDelivery(world, waits);
  return delivery ? cancel(world, delivery) : nothing;
};
/** Cancels one in the Temporal UI. */
export const cancelWorkflow: Step = async ({ temporal, model }) => {
  const delivery = [...model.deliveries.values()].find(
    (each) => waits(each) && each.subscription.isActive && each.subscription.goneAt === null,
  );
  if (!delivery) return nothing;
  const handle = temporal.client.workflow.getHandle(`webhook-delivery/${delivery.id}`);
  await handle.cancel();
  await handle.result().catch(() => undefined);
  Object.assign(delivery, { status: 'cancelled', endedReason: 'cancelled_by_operator', endedAt: Date.now() });
  return `the workflow of ${short(delivery.id)} cancelled`;
};

export const wait: Step = async (world) => {
  const soonest = Math.min(...[...world.model.deliveries.values()].filter(waits).map(({ due: [from] }) => from));
  const toNext = Number.isFinite(soonest) ? Math.max(0, soonest - Date.now()) + 1_000 : 60_000;
  const ms = world.random.of([toNext, toNext, toNext, hours(2), days(1), days(3)]);
  await age(world, Math.round(ms));
  return `${Math.round(ms / 1000)} s pass`;
};
