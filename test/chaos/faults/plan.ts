import { createRandom } from '../../support/random.js';

const partNames = ['api 1', 'api 2', 'worker 1', 'worker 2', 'Temporal', 'PostgreSQL'] as const;
export type PartName = (typeof partNames)[number];

/** A fault: the parts that fail, and for how long. Times are in milliseconds. */
export interface Fault {
  parts: PartName[];
  signal: 'SIGKILL' | 'SIGSTOP';
  /** The pause before it. */
  afterMs: number;
  /** Until a killed part is started, or a halted one continued. */
  downMs: number;
}

export interface PlanOptions {
  seed: number;
  /** About how long the whole plan takes. */
  ms: number;
  /** How long a part is halted. */
  stopMs: number;
}

/** Returns kills and halts in an order that the seed decides: every part once, then more until the time is over. */
export function planOf({ seed, ms, stopMs }: PlanOptions): Fault[] {
  const random = createRandom(seed);
  const plan: Fault[] = [];
  const order: PartName[] = [];
  for (let at = 0; at < ms; ) {
    if (order.length === 0) order.push(...shuffled(partNames, random));
    const parts = [order.shift() as PartName];
    if (random.next() < 0.25 && order.length > 0) parts.push(order.shift() as PartName);
    const signal = random.next() < 0.65 ? 'SIGKILL' : 'SIGSTOP';
    const downMs = signal === 'SIGSTOP' ? stopMs : random.between(0, 4_000);
    const afterMs = random.between(1_000, 6_000);
    plan.push({ parts, signal, afterMs, downMs });
    at += afterMs + downMs;
  }
  return plan;
}

/** Returns one long outage of Temporal, during which everything else works. */
export const outageOf = (downMs: number): Fault[] => [
  { parts: ['Temporal'], signal: 'SIGKILL', afterMs: 30_000, downMs },
];

function shuffled<T>(all: readonly T[], random: ReturnType<typeof createRandom>): T[] {
  const left = [...all];
  return all.map(() => left.splice(Math.floor(random.next() * left.length), 1)[0] as T);
}
