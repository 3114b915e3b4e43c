import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { lockWaits } from './lock-waits.js';

/** A statement of pg's, in any of the forms that its callers use. */
type Query = (this: pg.Client, statement: unknown, ...more: unknown[]) => unknown;
const { prototype } = pg.Client as unknown as { prototype: { query: Query } };

/** How long the other one has to end or to be seen waiting in PostgreSQL; it may wait for the held connection in this process. */
const longestHoldMs = 1_000;

/** Runs something alone. @returns also how many statements it sent */
export async function counted<T>(work: () => Promise<T>): Promise<{ outcome: T; statements: number }> {
  let statements = 0;
  const outcome = await replacing(
    (query) =>
      function (...args) {
        statements += 1;
        return query.apply(this, args);
      },
    work,
  );
  return { outcome, statements };
}

/**
 * Stops one thing right before one of its statements, until another one is over or waits for its locks. So the worst moment of a
 * race is met each time.
 * @param at the number of that statement, from 1; where there are less, the other one comes after it
 */
export async function interleaved<A, B>(
  ownerUrl: string,
  at: number,
  first: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B]> {
  let statements = 0;
  let held: pg.Client | null = null;
  let isOneOver = false;
  let waiting: (() => void)[] | null = [];
  let reached: () => void = () => {};
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const holding = (query: Query): Query =>
    function (...args) {
      if (held === null && !isOneOver && ++statements === at) {
        held = this;
        reached();
      }
      if (held !== this || waiting === null) return query.apply(this, args);
      // One that is submitted answers by itself; any other is asked for a promise.
      const [statement] = args as [{ submit?: unknown }];
      if (typeof statement?.submit === 'function') {
        waiting.push(() => query.apply(this, args));
        return statement;
      }
      return new Promise((resolve) => waiting?.push(() => resolve(query.apply(this, args))));
    };
  return replacing(holding, async () => {
    const one = Promise.resolve(first());
    await Promise.race([isReached, one]);
    isOneOver = held === null; // what is sent from here on is not of the first
    const two = Promise.resolve(other());
    let isOver = false;
    const over = two.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    for (const until = Date.now() + longestHoldMs; !isOver && Date.now() < until; await sleep(2))
      if ((await lockWaits(ownerUrl)) > 0) break;
    const goOn = waiting ?? [];
    waiting = null;
    for (const send of goOn) send();
    return Promise.all([one, two]);
  });
}

/** What can happen to something, and what is left of it then. */
export interface Happenings<Subject> {
  make(): Promise<Subject>;
  /** By what it is called; each answers how it came out. */
  happenings: Record<string, (subject: Subject) => Promise<string>>;
  left(subject: Subject): Promise<unknown>;
}

/**
 * Has pairs of things happen at once, the first of them stopped before a statement.
 * @param before says at which, of so many, from 1
 * @returns what came to something that neither of the two orders comes to
 */
export async function unlikeBothOrders<Subject>(
  ownerUrl: string,
  { make, happenings, left }: Happenings<Subject>,
  pairs: readonly (readonly [first: string, other: string])[],
  before: (statements: number) => number,
): Promise<string[]> {
  const happen = (name: string, subject: Subject) => () => happenings[name]!(subject);
  const known = new Map<string, { came: string[]; rest: unknown; statements: number }>();
  async function inOrder(first: string, other: string) {
    const name = `${first} ${other}`;
    if (!known.has(name)) {
      const subject = await make();
      const { outcome, statements } = await counted(happen(first, subject));
      const came = [outcome, await happen(other, subject)()];
      known.set(name, { came, rest: await left(subject), statements });
    }
    return known.get(name)!;
  }
  const problems: string[] = [];
  for (const [first, other] of pairs) {
    const [one, two] = [await inOrder(first, other), await inOrder(other, first)];
    const subject = await make();
    const at = before(one.statements);
    const both = await interleaved(ownerUrl, at, happen(first, subject), happen(other, subject));
    const is = JSON.stringify([both, await left(subject)]);
    const possible = [JSON.stringify([one.came, one.rest]), JSON.stringify([two.came.toReversed(), two.rest])];
    if (!possible.includes(is)) problems.push(`${first} before its statement ${at}, ${other}: ${is}; not ${possible}`);
  }
  return problems;
}

async function replacing<T>(by: (query: Query) => Query, work: () => Promise<T>): Promise<T> {
  const { query } = prototype;
  prototype.query = by(query);
  try {
    return await work();
  } finally {
    prototype.query = query;
  }
}
