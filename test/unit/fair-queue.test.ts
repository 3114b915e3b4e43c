import { setImmediate as nextTurn } from 'node:timers/promises';
import bcrypt from 'bcrypt';
import { createFairQueue } from '../../src/domain/limits/fair-queue.js';
import { createHashing } from '../../src/domain/passwords/hashing.js';
import { runInContext, systemActor } from '../../src/platform/context.js';
import { createRandom } from '../support/random.js';

test('a fixed number runs at once, the others in order, also after one that failed', async () => {
  const queue = createFairQueue(2);
  const log: string[] = [];
  const running = new Set<number>();
  const results = await Promise.allSettled(
    [0, 1, 2, 3, 4, 5].map((i) =>
      queue(async () => {
        running.add(i);
        log.push(`${i} of ${running.size}`);
        await nextTurn();
        running.delete(i);
        if (i % 2 === 0) throw new Error(`failed ${i}`);
      }),
    ),
  );
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([false, true, false, true, false, true]);
  expect(log.map((line) => line[0])).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(log.every((line) => /of [12]$/.test(line))).toBe(true);
  await expect(queue(async () => 'free again')).resolves.toBe('free again');
});

test('imported hashes leave turns for our own hashes', async () => {
  const { hash, verify, load } = createHashing({ atOnce: 2 });
  const [ours, imported] = await Promise.all([hash('violet tractor'), bcrypt.hash('violet tractor', 4)]);
  const proofs = Array.from({ length: 12 }, () => verify(imported, 'violet tractor'));
  expect(load()).toEqual({ running: 1, waiting: 11 });
  proofs.push(verify(ours, 'violet tractor'));
  expect(load()).toEqual({ running: 2, waiting: 11 }); // it did not wait
  expect(await Promise.all(proofs)).toEqual(Array(13).fill(true));
});

test('imported hashes of one Account take turns with those of another', async () => {
  const { verify } = createHashing({ atOnce: 2, maxWaiting: 50 });
  // The least cost: what waits longer than 15 seconds is refused.
  const imported = await bcrypt.hash('violet tractor', 4);
  let done = 0;
  const theirs = Array.from({ length: 20 }, () =>
    verify(imported, 'violet tractor', 'theirs').then(() => {
      done++;
    }),
  );
  expect(await verify(imported, 'violet tractor', 'ours')).toBe(true);
  expect(done).toBeLessThan(4); // the one that ran, and those in between
  const results = await Promise.allSettled(theirs);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(11); // ten may wait, a fifth of all
});

test('a burst of passwords at one Account is refused beyond its part, and delays no other Account', async () => {
  const { hash, isFull } = createHashing({ atOnce: 1, maxWaiting: 10 });
  const hashFor = (accountId: string) =>
    runInContext({ correlationId: accountId, actor: systemActor, accountId }, () => hash('violet tractor'));
  let done = 0;
  const theirs = Array.from({ length: 15 }, () =>
    hashFor('theirs').then(() => {
      done++;
    }),
  );
  expect([isFull('theirs'), isFull('ours'), isFull()]).toEqual([true, false, false]);
  await hashFor('ours');
  expect(done).toBeLessThan(4); // the one that ran, and those in between
  const results = await Promise.allSettled(theirs);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(11);
});

test('work beyond the queue’s length is refused at once, and waiting work is not', async () => {
  const queue = createFairQueue(1, { maxQueued: 2 });
  let finish = () => {};
  const first = queue(() => new Promise<string>((resolve) => (finish = () => resolve('first'))));
  const waiting = [queue(async () => 'second'), queue(async () => 'third')];
  expect(queue.isFull()).toBe(true);
  await expect(queue(async () => 'fourth')).rejects.toMatchObject({ code: 'service.unavailable' });
  finish();
  expect(await Promise.all([first, ...waiting])).toEqual(['first', 'second', 'third']);
  expect(queue.isFull()).toBe(false);
});

test('a burst of passwords leaves threads to other work, and its excess is refused', async () => {
  const { hash, verify, load } = createHashing({ atOnce: 2, maxWaiting: 20 });
  const stored = await hash('violet tractor');
  const burst = Array.from({ length: 40 }, () => verify(stored, 'violet tractor'));
  expect(load()).toEqual({ running: 2, waiting: 20 }); // of four threads
  const results = await Promise.allSettled(burst);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(22);
});

describe('work of many owners', () => {
  /** Runs work that ends when a test says so; `begun` has the owners in the order of their turns. */
  function work(queue: ReturnType<typeof createFairQueue>) {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const run = (whose: string) =>
      queue(() => {
        begun.push(whose);
        return new Promise<void>((resolve) => ends.push(resolve));
      }, whose);
    const endNext = async () => {
      ends.shift()?.();
      await nextTurn();
    };
    return { begun, run, endNext };
  }

  test('of one owner has no more than a share at once, and its waiting work delays no other owner', async () => {
    const queue = createFairQueue(3, { maxRunningOfEach: 2 });
    const { begun, run, endNext } = work(queue);
    const all = ['ana', 'ana', 'ana', 'ana', 'ben', 'ben'].map(run);
    expect([begun, queue.load()]).toEqual([['ana', 'ana', 'ben'], { running: 3, waiting: 3 }]);
    await endNext();
    expect(begun).toEqual(['ana', 'ana', 'ben', 'ana']);
    await endNext();
    expect(begun.at(-1)).toBe('ben');
    for (let i = 0; i < 4; i++) await endNext();
    await Promise.all(all);
    expect(queue.load()).toEqual({ running: 0, waiting: 0 });
  });

  test('of an owner with one turn and many waiting gets it in alternation with others', async () => {
    const { begun, run, endNext } = work(createFairQueue(1));
    const all = ['ana', 'ana', 'ana', 'ben', 'cem'].map(run);
    for (let i = 0; i < 5; i++) await endNext();
    await Promise.all(all);
    expect(begun).toEqual(['ana', 'ana', 'ben', 'cem', 'ana']);
  });

  test('of one owner is refused at its own queue length, and of all together at theirs', async () => {
    let refused = 0;
    const queue = createFairQueue(1, { maxQueued: 3, maxQueuedOfEach: 2, onRefused: () => refused++ });
    const { run, endNext } = work(queue);
    const taken = ['ana', 'ana', 'ana'].map(run);
    await expect(run('ana')).rejects.toMatchObject({ code: 'service.unavailable' });
    taken.push(run('ben'));
    await expect(run('cem')).rejects.toMatchObject({ code: 'service.unavailable' });
    expect(refused).toBe(2);
    for (let i = 0; i < 4; i++) await endNext();
    await Promise.all(taken);
  });

  test('counts as waiting at most so many of each, where that is asked', async () => {
    const queue = createFairQueue(1);
    let end = () => {};
    const all = [queue(() => new Promise<void>((resolve) => (end = resolve)))];
    for (const whose of ['ana', 'ana', 'ana', 'ben']) all.push(queue(async () => {}, whose));
    expect(queue.load()).toEqual({ running: 1, waiting: 4 });
    expect(queue.load(2)).toEqual({ running: 1, waiting: 3 });
    end();
    await Promise.all(all);
    expect(queue.load(2)).toEqual({ running: 0, waiting: 0 });
  });

  test('that has waited too long is refused, and takes no turn any more', async () => {
    const queue = createFairQueue(1, { withinMs: 20 });
    const { begun, run, endNext } = work(queue);
    const first = run('ana');
    await expect(run('ben')).rejects.toMatchObject({ code: 'service.unavailable', options: { retryAfter: 1 } });
    expect(queue.load()).toEqual({ running: 1, waiting: 0 });
    await endNext();
    await first;
    expect([begun, queue.load()]).toEqual([['ana'], { running: 0, waiting: 0 }]);
  });

  test('that is patient is never refused, and keeps its place', async () => {
    const queue = createFairQueue(1, { maxQueued: 1, withinMs: 20 });
    const first = queue(async () => {
      const patient = queue(async () => 'patient', 'ana', { isPatient: true });
      const another = queue(async () => 'another', 'ana', { isPatient: true });
      expect(queue.isFull()).toBe(false); // others are not refused because of them, and wait as usual
      await expect(queue(async () => 'hasty', 'ben')).rejects.toMatchObject({ code: 'service.unavailable' });
      await new Promise((resolve) => setTimeout(resolve, 60)); // longer than others may wait
      return [patient, another];
    });
    await expect(first.then((others) => Promise.all(others))).resolves.toEqual(['patient', 'another']);
  });

  test('has a share of what is free: nobody takes the last turns, and what one gives back goes to others', async () => {
    const queue = createFairQueue(10, { maxRunningOfEach: (free) => 2 * free });
    const { begun, run, endNext } = work(queue);
    const all = [...Array(20).fill('ana'), ...Array(20).fill('ben'), 'cem'].map((whose) => run(whose));
    expect(begun).toEqual([...Array(7).fill('ana'), 'ben', 'ben', 'cem']);
    await endNext();
    expect(queue.load()).toEqual({ running: 9, waiting: 31 }); // Ana has more than her share, and Ben all of his
    await endNext();
    expect(begun.at(-1)).toBe('ben');
    while (queue.load().running > 0) await endNext();
    await Promise.all(all);
    expect(begun).toHaveLength(41);
  });

  test('goes on as soon as a share allows it, however many begin at once', async () => {
    const queue = createFairQueue(7, { maxRunningOfEach: (free) => 2 * free });
    const random = createRandom(2211);
    const held = new Map<string, (() => void)[]>();
    const waiting = new Map<string, number>();
    const add = (map: Map<string, number>, key: string, by: number) => map.set(key, (map.get(key) ?? 0) + by);
    const run = (whose: string) => {
      add(waiting, whose, 1);
      return queue(() => {
        add(waiting, whose, -1);
        return new Promise<void>((resolve) => held.set(whose, [...(held.get(whose) ?? []), resolve]));
      }, whose);
    };
    const whoStillWaits = () => {
      const free = 7 - queue.load().running;
      return [...waiting].filter(
        ([whose, count]) => count > 0 && free > 0 && (held.get(whose)?.length ?? 0) < 2 * free,
      );
    };
    const all: Promise<void>[] = [];
    for (let i = 0; i < 400; i++) {
      const whose = `account ${random.below(5)}`;
      if (random.below(2) === 0) all.push(run(whose));
      else held.get(whose)?.shift()?.();
      await nextTurn();
      expect(whoStillWaits()).toEqual([]);
    }
    while (queue.load().running > 0) {
      for (const ends of held.values()) ends.shift()?.();
      await nextTurn();
    }
    await Promise.all(all);
    expect(queue.load()).toEqual({ running: 0, waiting: 0 });
  });
});
