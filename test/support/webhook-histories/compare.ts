import { rowsOf } from '../rows.js';
import { type Received, verified } from '../webhooks.js';
import type { Attempt, Delivery, Status, Subscription, Told } from './model.js';
import { expected, hear, pathOf, settle, type World } from './world.js';

/** A delivery as the log shows it. */
interface Listed {
  id: string;
  event_id: string;
  event_type: string;
  status: Status;
  ended_reason: string | null;
  attempt_count: number;
  next_attempt_at: string | null;
  attempts: {
    number: number;
    started_at: string;
    duration_ms: number | null;
    status_code: number | null;
    error: string | null;
    response_excerpt: string | null;
  }[];
  settled_at: string | null;
  process: { state: Status; next_wake_up: string | null; verbs: string[] };
}
interface Page {
  items: Listed[];
  pagination: { item_count: number };
}

/** Waits until nothing is due, and compares everything that can be seen with the model. */
export async function expectTheModel(world: World): Promise<void> {
  const { model } = world;
  const before = model.remember();
  await settle(world);
  const there = model.subscriptions.filter(({ goneAt }) => goneAt === null);
  const wrong: string[] = [];
  const logs = new Map<Subscription, Listed[]>();
  for (const subscription of there) logs.set(subscription, await logOf(world, subscription));
  await hear(world, before);
  for (const [subscription, log] of logs) wrong.push(...(await newcomers(world, subscription, log)));
  for (const [subscription, log] of logs) wrong.push(...replayed(world, subscription, log));
  model.remember();
  for (const [subscription, log] of logs) {
    wrong.push(...misdealt(world, subscription, log), ...log.flatMap((listed) => differing(world, listed)));
    wrong.push(...(await changed(world, subscription)));
  }
  wrong.push(...(await misfiltered(world, logs)), ...misheard(world), ...(await untold(world)));
  for (const subscription of there) subscription.paths = [subscription.target.path];
  world.happened = [];
  expect(wrong).toEqual([]);
}

const logPath = (world: World, { id, environmentId }: Subscription) =>
  `${pathOf(world, environmentId)}/webhooks/${id}/deliveries`;

async function pagesOf(world: World, subscription: Subscription, query: string): Promise<Page> {
  const path = `${logPath(world, subscription)}?${query}`;
  const all: Page = { items: [], pagination: { item_count: 0 } };
  for (let page = 1; page === 1 || all.items.length < all.pagination.item_count; page++) {
    const { items, pagination } = expected<Page>(await world.owner('GET', `${path}&take=50&page=${page}`), '200');
    if (items.length === 0 && page > 1) throw new Error(`${all.items.length} of ${pagination.item_count} are listed`);
    all.items.push(...items);
    all.pagination = pagination;
  }
  return all;
}

export const logOf = async (world: World, subscription: Subscription) => (await pagesOf(world, subscription, '')).items;

/** Takes in deliveries that were made since, with what they say. */
export async function newcomers(world: World, subscription: Subscription, log: readonly Listed[]): Promise<string[]> {
  const { model, owner, account } = world;
  const wrong: string[] = [];
  for (const { id, event_id, event_type } of log) {
    if (model.deliveries.has(id)) continue;
    const shown = expected<{ body: string }>(await owner('GET', `${logPath(world, subscription)}/${id}`), '200');
    model.deliveries.set(id, {
      ...{
        id,
        subscription,
        eventType: event_type,
        body: shown.body,
        status: 'pending',
        endedReason: null,
        endedAt: 0,
      },
      ...{
        attempts: 0,
        interrupted: 0,
        deaths: 0,
        unheard: 0,
        due: [0, Number.POSITIVE_INFINITY],
        underWay: null,
        isAskedMeanwhile: false,
      },
    });
    if (event_type === 'webhook.test') continue;
    const [event] = await rowsOf<Record<string, unknown> & { metadata: object }>(
      world.api,
      `select action, created_at, environment_id, account_id, resource_type, resource_id, metadata from events where id = $1`,
      [event_id],
    );
    const says = event && {
      type: event.action,
      timestamp: (event.created_at as Date).toISOString(),
      data: { ...event.metadata, resource_type: event.resource_type, resource_id: event.resource_id },
      environment_id: event.environment_id,
      account_id: account.scope.accountId,
    };
    if (!says || event_type !== says.type || !isSame(JSON.parse(shown.body), says))
      wrong.push(`${id} says ${shown.body} and not ${JSON.stringify(says)}`);
  }
  return wrong;
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = (value: unknown): unknown =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted()
          .map(([key, inner]) => [key, sorted(inner)]),
      )
    : value;

/** Takes in the new attempts of a subscription in the order of their ends. */
function replayed({ model, receivers }: World, subscription: Subscription, log: readonly Listed[]): string[] {
  const fresh: { delivery: Delivery; attempt: Attempt }[] = [];
  const wrong: string[] = [];
  for (const { id, attempts } of log) {
    const delivery = model.deliveries.get(id) as Delivery;
    const known = delivery.attempts + delivery.interrupted;
    if (attempts.some(({ number }, i) => number !== i + 1)) wrong.push(`the attempts of ${id} have other numbers`);
    for (const one of attempts.slice(known)) {
      const begunAt = Date.parse(one.started_at);
      if (one.duration_ms === null) {
        delivery.interrupted++;
        if (one.error !== 'interrupted') wrong.push(`an attempt of ${id} has not ended: ${one.error}`);
        continue;
      }
      const { status_code: status, error, response_excerpt: excerpt } = one;
      fresh.push({ delivery, attempt: { begunAt, endedAt: begunAt + one.duration_ms, status, error, excerpt } });
    }
  }
  for (const { delivery, attempt } of fresh.sort((one, other) => one.attempt.endedAt - other.attempt.endedAt)) {
    const behavior = delivery.underWay?.behavior ?? receivers.behaviorOf(subscription.target);
    if (!(delivery.underWay?.target ?? subscription.target).fault) delivery.unheard++;
    wrong.push(...model.made(delivery, attempt, behavior));
  }
  return wrong;
}

/** Returns which events a subscription lacks, has twice, or must not have. */
function misdealt({ model, happened }: World, subscription: Subscription, log: readonly Listed[]): string[] {
  return happened.flatMap((event: Told) => {
    const share = model.share(subscription, event);
    const count = log.filter(({ event_id }) => event_id === event.id).length;
    const isRight = share === 'must' ? count === 1 : share === 'may' ? count <= 1 : count === 0;
    return isRight
      ? []
      : [`${subscription.id} has ${event.action} ${event.id} ${count} times, and it ${share} have it`];
  });
}

/** Returns how the log differs from what has to follow from the attempts. */
function differing({ model }: World, listed: Listed): string[] {
  const delivery = model.deliveries.get(listed.id) as Delivery;
  const { id, status, endedReason, attempts, interrupted, due } = delivery;
  const shown = [listed.status, listed.ended_reason, listed.attempt_count, listed.settled_at === null];
  const right = [status, endedReason, attempts + interrupted, status === 'pending'];
  const wrong = shown.join() === right.join() ? [] : [`${id} is ${shown}, and not ${right}`];
  const verbs = { pending: ['cancel'], succeeded: [], failed: ['retry'], cancelled: ['retry'] }[status];
  const { process } = listed;
  if (process.state !== status || process.verbs.join() !== verbs.join())
    wrong.push(`the process of ${id} is ${JSON.stringify(process)}`);
  const next = listed.next_attempt_at && Date.parse(listed.next_attempt_at);
  if ((status === 'pending') !== (next !== null) || process.next_wake_up !== listed.next_attempt_at)
    wrong.push(`${id} is ${status}, and attempted again at ${listed.next_attempt_at}`);
  if (status !== 'pending' || next === null) return wrong;
  const [from, until] = due;
  const named = due.map((moment) => Number.isFinite(moment) && new Date(moment).toISOString());
  if (Number(next) < from || Number(next) > until)
    wrong.push(`${id} is due at ${listed.next_attempt_at}, not ${named}`);
  delivery.due = [Number(next) - 10, Number(next) + 10];
  return wrong;
}

/** Returns how a subscription differs from the model. */
async function changed(world: World, subscription: Subscription): Promise<string[]> {
  const { id, target, types, isActive, disabledReason, failingSince, environmentId } = subscription;
  const shown = expected<{ failing_since: string | null } & Record<string, unknown>>(
    await world.owner('GET', `${pathOf(world, environmentId)}/webhooks/${id}`),
    '200',
  );
  const { failing_since, url, event_types, is_active, disabled_reason } = shown;
  const seen = [url, event_types, is_active, disabled_reason, failing_since !== null];
  const right = [target.url, types, isActive, disabledReason, failingSince !== null];
  const wrong = isSame(seen, right) ? [] : [`${id} is ${JSON.stringify(seen)}, and not ${JSON.stringify(right)}`];
  if (failing_since === null || failingSince === null) return wrong;
  const since = Date.parse(failing_since);
  if (Math.abs(since - failingSince) > 20_000) wrong.push(`${id} fails since ${failing_since}`);
  subscription.failingSince = since;
  return wrong;
}

/** Reads one log with filters; returns what is wrong with it. */
async function misfiltered(world: World, logs: ReadonlyMap<Subscription, readonly Listed[]>): Promise<string[]> {
  const { random } = world;
  const all = [...logs].filter(([, log]) => log.length > 0);
  if (all.length === 0) return [];
  const [subscription, log] = random.of(all);
  const status = random.of(['pending', 'succeeded', 'failed', 'cancelled', null, null]);
  const type = random.of([...log.map(({ event_type }) => event_type), null, null]);
  const q = random.of(['ROLE', '.created', 'test', null, null, null]);
  const order = random.of(['asc', 'desc']);
  const filters = Object.entries({ status, event_type: type, q, order }).filter(([, value]) => value !== null);
  const query = filters.map(([name, value]) => `${name}=${value}`).join('&');
  const { items } = await pagesOf(world, subscription, query);
  const fitting = log.filter(
    (each) =>
      (!status || each.status === status) &&
      (!type || each.event_type === type) &&
      (!q || each.event_type.toLowerCase().includes(q.toLowerCase())),
  );
  const ids = (list: readonly Listed[]) => list.map(({ id }) => id).join();
  const right = order === 'desc' ? fitting : fitting.toReversed();
  return ids(items) === ids(right) ? [] : [`?${query} lists ${ids(items)}, and not ${ids(right)}`];
}

/** Returns what is wrong with the messages that have arrived. */
function misheard({ model, receivers }: World): string[] {
  const wrong = receivers.news().flatMap((message) => {
    const delivery = model.deliveries.get(message.headers['webhook-id'] as string);
    if (!delivery) return [`${message.path} got something unknown: ${message.body}`];
    delivery.unheard--;
    return misspelled(delivery, message);
  });
  for (const delivery of model.deliveries.values()) {
    const { id, unheard, interrupted, deaths, subscription } = delivery;
    if (subscription.goneAt !== null) continue;
    if (unheard !== 0) wrong.push(`${-unheard} more messages of ${id} arrived than were sent`);
    if (interrupted !== deaths) wrong.push(`${interrupted} attempts of ${id} were interrupted, and not ${deaths}`);
  }
  if (receivers.most.calls > 16) wrong.push(`a receiver got ${receivers.most.calls} calls at once`);
  return wrong;
}

function misspelled({ id, subscription, body }: Delivery, message: Received): string[] {
  const { headers, path, at } = message;
  const wrong: string[] = [];
  const { goneAt, secrets } = subscription;
  if (!subscription.paths.includes(path)) wrong.push(`${path} got ${id}`);
  if (goneAt !== null && at > goneAt) wrong.push(`${id} was sent after the end of ${subscription.id}`);
  if (message.body !== body) wrong.push(`${id} was sent as ${message.body}, and not as ${body}`);
  const sentAt = Number(headers['webhook-timestamp']) * 1000;
  if (!(Math.abs(sentAt - at) < 20_000)) wrong.push(`${id} says that it was sent at ${headers['webhook-timestamp']}`);
  const valid = secrets.filter(({ from, until }) => from <= at && at < until);
  const verifying = secrets.filter(({ secret }) => isVerified(secret, message));
  const signatures = String(headers['webhook-signature']).split(' ').length;
  if (signatures !== valid.length || !isSame(verifying, valid))
    wrong.push(`${id} has ${signatures} signatures by ${verifying.length} of ${valid.length} secrets`);
  return wrong;
}

function isVerified(secret: string, message: Received): boolean {
  try {
    verified(secret, message);
    return true;
  } catch {
    return false;
  }
}

/** Returns which events of deliveries and subscriptions differ from those that must have been recorded. */
async function untold({ api, account, model }: World): Promise<string[]> {
  const rows = await rowsOf<{ told: string }>(
    api,
    `select concat_ws(' ', action, resource_id, metadata ->> 'reason') as told from events
     where account_id = $1 and action in ('webhook.disabled', 'webhook.delivery_failed')`,
    [account.scope.accountId],
  );
  const [told, right] = [rows.map((row) => row.told).sort(), model.expected.toSorted()];
  return told.join() === right.join() ? [] : [`recorded are ${told}, and not ${right}`];
}
