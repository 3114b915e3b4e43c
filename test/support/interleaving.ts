import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { lockWaits } from './lock-waits.js';

/** pg's `query`, in any of the forms that its callers use. */
type Query = (this: pg.Client, statement: unknown, ...more: unknown[]) => unknown;
const { prototype } = pg.Client as unknown as { prototype: { query: Query } };

/**
 * How long the other work may take to end or to wait in PostgreSQL: it may wait for the held connection in this
 * process.
 */
const longestHoldMs = 1_000;

/** Runs work alone. @returns also how many statements it sent */
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
 * Stops one piece of work right before one of its statements until the other one has ended or waits for its locks, so
 * that every run meets the worst moment of the race.
 * @param at the number of that statement, from 1; if the work sends fewer, the other one runs after it
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
      // A statement with `submit` answers by itself; any other is asked for a promise.
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
    isOneOver = held === null; // the first one's statements are all sent
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

/** What can happen to a subject, and what it is like afterwards. */
export interface Happenings<Subject> {
  make(): Promise<Subject>;
  /** By name; each returns its outcome. */
  happenings: Record<string, (subject: Subject) => Promise<string>>;
  left(subject: Subject): Promise<unknown>;
}

/**
 * Runs pairs of happenings at once, the first of each pair stopped before one of its statements.
 * @param before returns which one, from 1, of a given number
 * @returns the outcomes that neither order of the two, one after the other, leads to
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
