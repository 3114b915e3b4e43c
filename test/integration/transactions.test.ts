import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { currentContext, runInContext } from '../../src/platform/context.js';
import { RequestAborted, stoppable, unstoppable } from '../../src/platform/database/aborting.js';
import { LazyAbort } from '../../src/platform/lazy-abort.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 2 });
});
afterAll(() => database.close());

const placeOf = async (tx: EntityManager, value: string): Promise<string> => {
  const [row] = await tx.query<{ place: string }[]>(
    `select current_setting('gatehouse.scope', true) || ' ' || current_setting('gatehouse.account_id', true) as place where $1 <> ''`,
    [value],
  );
  return row?.place as string;
};

test('a transaction that did not begin does nothing: its statements ran in no transaction and no scope', async () => {
  const refused = database.db.transaction({ accountId: 'a\0b' }, async (tx) => (await tx.query('select 1')).length);
  await expect(refused).rejects.toThrow('invalid message format');
  expect(await database.db.transaction('system', (tx) => placeOf(tx, 'x'))).toBe('system ');
});

test('a swallowed error does not turn a rollback into a commit', async () => {
  const failed = database.db.transaction('system', async (tx) => {
    await tx.query('select 1 / 0').catch(() => {});
    return 'done';
  });
  await expect(failed).rejects.toThrow('rolled back');
  // If a savepoint was kept, what came before and after it is committed.
  const kept = database.db.transaction('system', async (tx) => {
    await tx.transaction((inner) => inner.query('select 1 / 0')).catch(() => {});
    return placeOf(tx, 'x');
  });
  expect(await kept).toBe('system ');
});

test('of statements that were sent together, the failed one gives the error, in whatever order they are awaited', async () => {
  const slowly = async (failing: Promise<unknown>) => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    return failing.catch(async (error) => {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      throw error;
    });
  };
  const failed = database.db.transaction('system', (tx) =>
    Promise.all([slowly(tx.query('select 1 / 0')), tx.query('select 1'), tx.query('select 2')]),
  );
  await expect(failed).rejects.toThrow('division by zero');
});

test('work that continues after its transaction has ended reaches neither the connection nor the next scope', async () => {
  const answers: { own: string; place: string }[] = [];
  const goingOn: Promise<void>[] = [];
  const goOn = async (tx: EntityManager, own: string) => {
    for (;;) answers.push({ own, place: await placeOf(tx, own) });
  };
  const failing = (own: string) =>
    database.db
      .transaction({ accountId: own }, async (tx) => {
        for (let i = 0; i < 3; i++) goingOn.push(goOn(tx, own).catch(() => {}));
        await placeOf(tx, own);
        throw new Error('over');
      })
      .catch(() => {});
  const accounts = Array.from({ length: 60 }, (_, i) => `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`);
  await Promise.all(
    accounts.map(async (own, i) => {
      for (let turn = 0; turn < i % 5; turn++) await nextTurn();
      await failing(own);
    }),
  );
  await Promise.all(goingOn);
  expect(answers.length).toBeGreaterThan(60);
  expect(answers.filter(({ own, place }) => place !== `tenant ${own}`)).toEqual([]);
});

describe('a read that is given up', () => {
  const sleeping = 'select pg_sleep(20)';
  const tenant = { accountId: '01900000-0000-7000-8000-000000000000' };
  const ways: Record<string, () => Promise<unknown>> = {
    'a transaction': () => database.db.transaction('system', (tx) => tx.query(sleeping)),
    'statements that were sent together': () =>
      database.db.transaction('system', (tx) =>
        Promise.all([tx.query('select 1'), tx.query(sleeping), tx.query(sleeping)]),
      ),
    'a statement': () => database.db.statement({ name: 'sleep', text: sleeping }, []),
    'a statement in a scope': () => database.db.statementIn(tenant, { name: 'sleep_in', text: sleeping }, []),
  };
  const asleep = async () =>
    (
      await rowsAsOwner<{ pid: number }>(
        database.ownerUrl,
        `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      )
    ).length;
  const reading = <T>(work: () => Promise<T>) => {
    const abortController = new LazyAbort();
    return {
      abort: () => abortController.abort(),
      answer: runInContext({ ...currentContext(), abortController }, () => stoppable(work)),
    };
  };

  test.each(Object.keys(ways))('makes PostgreSQL stop %s, and nothing that comes after it', async (way) => {
    for (let round = 0; round < 5; round++) {
      const { abort, answer } = reading(ways[way] as () => Promise<unknown>);
      await until('it sleeps', async () => (await asleep()) === 1);
      abort();
      await expect(answer).rejects.toThrow(RequestAborted);
      const next = Array.from({ length: 4 }, (_, i) =>
        i % 2 === 0
          ? database.db.transaction('system', (tx) => tx.query('select pg_sleep(0.01), 1 as one'))
          : database.db.statement({ name: 'one', text: 'select 1 as one' }, []),
      );
      expect((await Promise.all(next)).flat()).toEqual(next.map(() => expect.objectContaining({ one: 1 })));
      expect(await asleep()).toBe(0);
    }
  });

  test('sends no further statement, and is rolled back', async () => {
    const { abort, answer } = reading(() =>
      database.db.transaction('system', async (tx) => {
        await tx.query(`select set_config('gatehouse.here', 'yes', false)`);
        abort();
        await nextTurn();
        await tx.query(sleeping);
      }),
    );
    await expect(answer).rejects.toThrow(RequestAborted);
    const late = reading(() => database.db.transaction('system', async () => abort()));
    late.abort();
    await expect(late.answer).rejects.toThrow(RequestAborted);
  });

  test('goes on if others wait for it as well', async () => {
    const { abort, answer } = reading(() =>
      unstoppable(() => database.db.transaction('system', (tx) => tx.query('select pg_sleep(0.2), 1 as one'))),
    );
    abort();
    expect(await answer).toEqual([expect.objectContaining({ one: 1 })]);
  });
});
