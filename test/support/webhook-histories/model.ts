import { days, hours } from '../../../src/platform/clock.js';
import type { Behavior } from './behaviors.js';
import type { Target } from './receivers.js';

/**
 * Webhooks as contract §7 and docs/webhooks.md describe them, in their plainest form. It does not know how deliveries
 * are made: it is told what was called, and when, and says whether that may be and what follows.
 */

export type Status = 'pending' | 'succeeded' | 'failed' | 'cancelled';

export interface Secret {
  secret: string;
  from: number;
  until: number;
}

/** What decides which events a subscription gets. */
export interface Wish {
  /** Null: of the Account. */
  environmentId: string | null;
  types: readonly string[];
  isActive: boolean;
}

export interface Subscription extends Wish {
  id: string;
  target: Target;
  /** Where messages may have gone since the last comparison. */
  paths: string[];
  disabledReason: 'gone' | 'failing' | null;
  failingSince: number | null;
  secrets: Secret[];
  /** When it, or what it belongs to, was deleted. */
  goneAt: number | null;
}

export interface Told {
  id: string;
  action: string;
  environmentId: string | null;
  /** What there was before it happened. */
  from: number;
}

export interface Delivery {
  id: string;
  subscription: Subscription;
  eventType: string;
  body: string;
  status: Status;
  endedReason: string | null;
  endedAt: number;
  /** The attempts that count, and those during which our worker died. */
  attempts: number;
  interrupted: number;
  /** How often our worker died. */
  deaths: number;
  /** Messages that were sent and have not arrived. */
  unheard: number;
  /** Between these moments it has to be attempted; the first one may be any time in the past. */
  due: readonly [from: number, until: number];
  /** What a call under way meets, if that has changed since it began. */
  underWay: { target: Target; behavior: Behavior } | null;
  /** Whether somebody asked for an attempt during a call. */
  isAskedMeanwhile: boolean;
}

/** A call as the log shows it. */
export interface Attempt {
  begunAt: number;
  endedAt: number;
  status: number | null;
  error: string | null;
  excerpt: string | null;
}

/** The waits of these tests, instead of the documented ones: the first passes by itself, the others only by `age`. */
export const schedule = [300, hours(1), hours(2), hours(10)];
const fiveDaysMs = days(5);
/** Between an answer and the moment from which the next wait counts, on a busy machine. */
const settlingMs = 20_000;
/** Between an answer and the commit of what follows from it: another call may begin meanwhile. */
const committingMs = 3_000;
/** Times of the log are whole milliseconds. */
const roundingMs = 10;

/** Types that belong to no Environment (docs/events.md). */
const ofAccount = /^(environment|application|member|account|administrator_\w+)\./;

export class Model {
  readonly subscriptions: Subscription[] = [];
  readonly deliveries = new Map<string, Delivery>();
  /** What has to be recorded and mailed. */
  readonly expected: string[] = [];
  /** Who wished what after each change. */
  private readonly wishes: Map<Subscription, Wish>[] = [new Map()];

  /** Remembers the state after a change. @returns its number */
  remember(): number {
    const there = this.subscriptions.filter(({ goneAt }) => goneAt === null);
    this.wishes.push(new Map(there.map((each) => [each, { ...each }])));
    return this.wishes.length - 1;
  }

  /** Whether a subscription must get an event: it wanted it from before it until now. It may if it ever did. */
  share(subscription: Subscription, event: Told): 'must' | 'may' | 'never' {
    const since = this.wishes.slice(event.from).map((wishes) => wants(wishes.get(subscription), event));
    return since.every(Boolean) ? 'must' : since.some(Boolean) ? 'may' : 'never';
  }

  /** Ends what waits for a subscription. */
  stop(subscription: Subscription, endedReason: string, endedAt: number): void {
    for (const delivery of this.deliveries.values())
      if (delivery.subscription === subscription && delivery.status === 'pending')
        Object.assign(delivery, { status: 'cancelled', endedReason, endedAt });
  }

  /** Lets an attempt that somebody asks for be due now. */
  ask(delivery: Delivery, now: number): void {
    const isAskedMeanwhile = delivery.underWay !== null;
    Object.assign(delivery, { status: 'pending', endedReason: null, due: [now, now], isAskedMeanwhile });
  }

  /** Takes in a call. @returns what is wrong with it */
  made(delivery: Delivery, attempt: Attempt, behavior: Behavior): string[] {
    const { target } = delivery.underWay ?? delivery.subscription;
    const wrong = [...untimely(delivery, attempt), ...otherwise(target, attempt, behavior)];
    delivery.attempts++;
    const isSuccess = behavior.status !== null && behavior.status >= 200 && behavior.status < 300;
    if (isSuccess) this.succeeded(delivery, attempt, target);
    else this.failed(delivery, attempt, behavior, target);
    Object.assign(delivery, { underWay: null, isAskedMeanwhile: false });
    return wrong;
  }

  private succeeded(delivery: Delivery, { endedAt }: Attempt, target: Target): void {
    if (delivery.subscription.target === target) delivery.subscription.failingSince = null;
    Object.assign(delivery, { status: 'succeeded', endedReason: null, endedAt });
  }

  private failed(delivery: Delivery, { endedAt }: Attempt, { status, asksMs }: Behavior, target: Target): void {
    const { subscription } = delivery;
    if (subscription.target === target) this.countAgainst(subscription, status, endedAt);
    if (delivery.status !== 'pending' || delivery.isAskedMeanwhile) return;
    const wait = schedule[delivery.attempts - 1];
    if (wait === undefined) {
      Object.assign(delivery, { status: 'failed', endedReason: 'attempts_exhausted', endedAt });
      this.expected.push(`webhook.delivery_failed ${delivery.id}`);
      return;
    }
    const [least, most] = [0.9 * wait, 1.1 * wait].map((ms) => endedAt + Math.max(ms, asksMs)) as [number, number];
    delivery.due = [least - roundingMs, most + settlingMs];
  }

  private countAgainst(subscription: Subscription, status: number | null, at: number): void {
    subscription.failingSince ??= at;
    if (!subscription.isActive) return;
    const isFailing = at - subscription.failingSince >= fiveDaysMs;
    if (status !== 410 && !isFailing) return;
    const disabledReason = status === 410 ? 'gone' : 'failing';
    Object.assign(subscription, { isActive: false, disabledReason });
    this.expected.push(`webhook.disabled ${subscription.id} ${disabledReason}`);
    this.stop(subscription, status === 410 ? 'webhook_gone' : 'webhook_disabled', at + committingMs);
  }

  /** Lets time pass, by moving everything into the past. */
  age(ms: number): void {
    for (const subscription of this.subscriptions) {
      if (subscription.failingSince !== null) subscription.failingSince -= ms;
      for (const secret of subscription.secrets) secret.until -= ms;
    }
    for (const delivery of this.deliveries.values())
      Object.assign(delivery, {
        due: delivery.due.map((moment) => moment - ms),
        endedAt: delivery.endedAt - ms,
      });
  }
}

function wants(wish: Wish | undefined, { action, environmentId }: Told): boolean {
  if (!wish?.isActive || !(wish.types.includes('*') || wish.types.includes(action))) return false;
  return wish.environmentId === null || (wish.environmentId === environmentId && !ofAccount.test(action));
}

/** A call is made while a delivery waits, when its time has come; one that was under way at its end is finished. */
function untimely({ id, status, endedAt, due, underWay }: Delivery, { begunAt }: Attempt): string[] {
  const at = `${id} was attempted at ${new Date(begunAt).toISOString()}`;
  const wasUnderWay = underWay !== null || (status === 'cancelled' && begunAt <= endedAt);
  if (status !== 'pending' && !wasUnderWay) return [`${at}, when it was ${status}`];
  return begunAt < due[0] && underWay === null ? [`${at}, due at ${new Date(due[0]).toISOString()}`] : [];
}

function otherwise({ isPublic }: Target, attempt: Attempt, behavior: Behavior): string[] {
  const { name, status, error, excerpt } = behavior;
  const isShown = isPublic && status !== null && excerpt;
  const isAsSaid =
    attempt.status === status &&
    attempt.error === error &&
    (isShown ? excerpt.test(attempt.excerpt ?? 'nothing') : attempt.excerpt === null);
  return isAsSaid ? [] : [`${name} was listed as ${JSON.stringify(attempt).slice(0, 300)}`];
}
