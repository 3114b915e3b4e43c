import { ScheduleNotFoundError } from '@temporalio/client';
import type { Processes } from '../../src/temporal/processes.js';
import { createServerPreparation, startScheduleChecks } from '../../src/worker/schedule-checks.js';
import { searchAttributes } from '../../workflows/search-attributes.js';
import { until } from '../support/until.js';

const issuer = 'https://id.example.com';

/** A server with all our search attributes. */
const withAttributes = {
  operatorService: {
    listSearchAttributes: async () => ({
      customAttributes: Object.fromEntries(Object.keys(searchAttributes).map((name) => [name, 2])),
    }),
  },
};

/** Runs `work` with schedules that are checked on such a server; `told` has the details of the warnings. */
async function withChecks(
  {
    schedule,
    connection = withAttributes,
    ...times
  }: { schedule: object; connection?: object; everyMs: number; againMs?: number; newestMs?: number },
  work: (schedules: ReturnType<typeof startScheduleChecks>, told: object[]) => Promise<void>,
): Promise<void> {
  const processes = { client: { schedule }, connection } as unknown as Processes;
  const told: object[] = [];
  const log = { warn: (details: object) => void told.push(details), info() {} };
  const stopping = new AbortController();
  const schedules = startScheduleChecks({ processes, namespace: 'default', issuer, log, ...times }, stopping.signal);
  try {
    await work(schedules, told);
  } finally {
    stopping.abort();
  }
}

test('a server that cannot answer about schedules yet is asked again until it has ours, and reconciles then', async () => {
  const made: string[] = [];
  const triggered: string[] = [];
  let refusals = 3;
  const schedule = {
    async create({ scheduleId }: { scheduleId: string }) {
      if (refusals-- > 0) throw new Error('Failed to describe schedule');
      made.push(scheduleId);
    },
    getHandle: (id: string) => ({
      describe: async () => ({ state: { paused: false }, action: {} }),
      trigger: async () => void triggered.push(id),
    }),
  };
  await withChecks({ schedule, everyMs: 900_000, againMs: 5 }, async (schedules) => {
    schedules.renew(); // returns at once
    await until('the reconciler runs', () => triggered.length === 1);
    expect(made).toEqual(['signing-key-rotation', 'housekeeping', 'event-counting', 'reconciler']);
    schedules.renew(); // another worker has started
    await until('it runs again', () => triggered.length === 2);
  });
});

test('a first start that takes longer than a check reports no lost schedules; later ones are reported once', async () => {
  const made = new Set<string>();
  let looks = 0;
  const schedule = {
    create: async ({ scheduleId }: { scheduleId: string }) => void made.add(scheduleId),
    getHandle: (id: string) => ({
      async describe() {
        looks += 1;
        if (!made.has(id)) throw new ScheduleNotFoundError('there is none', id);
        return { state: { paused: false }, action: {} };
      },
      trigger: async () => {},
    }),
  };
  await withChecks({ schedule, everyMs: 5 }, async (schedules, told) => {
    await until('it was looked often while it is still connecting', () => looks > 20);
    const before = looks;
    schedules.renew();
    await until('they are looked at again', () => made.size === 4 && looks > before + 20);
    expect(told).toEqual([]);
    made.clear(); // the server comes back empty
    await until('they are made again', () => made.size === 4);
    const then = looks;
    await until('it was looked often', () => looks > then + 20);
    expect(told).toHaveLength(1);
  });
});

test('after schedules were created the reconciler runs once more, when rows of the last minute are old enough', async () => {
  const triggered: number[] = [];
  let looks = 0;
  const schedule = {
    create: async () => {},
    getHandle: () => ({
      describe: async () => {
        looks += 1;
        return { state: { paused: false }, action: {} };
      },
      trigger: async () => void triggered.push(performance.now()),
    }),
  };
  await withChecks({ schedule, everyMs: 10, newestMs: 300 }, async (schedules) => {
    schedules.renew();
    await until('it has run twice', () => triggered.length === 2);
    expect(triggered[1]! - triggered[0]!).toBeGreaterThanOrEqual(300);
    const then = looks;
    await until('it was looked often enough to run again', () => looks > then + 10);
    expect(triggered).toHaveLength(2);
  });
});

test('a search attribute of another type is reported, since no workflow could be started with it; a missing one is created', async () => {
  const added: object[] = [];
  const operatorService = {
    listSearchAttributes: async () => ({ customAttributes: { GatehouseAccountId: 3, GatehouseState: 2 } }),
    addSearchAttributes: async (asked: object) => void added.push(asked),
  };
  const processes = { connection: { operatorService } } as unknown as Processes;
  const told: object[] = [];
  const log = { warn: (details: object) => void told.push(details), info() {} };
  await createServerPreparation({ processes, namespace: 'default', log })();
  expect(told).toEqual([{ missing: ['GatehouseAccountId'] }]);
  expect(added).toEqual([
    { namespace: 'default', searchAttributes: { GatehouseEnvironmentId: 2, GatehouseSubjectId: 2 } },
  ]);
});

test('removed search attributes are created again under a running worker, and a refusal is reported once', async () => {
  const schedule = {
    create: async () => {},
    getHandle: () => ({ describe: async () => ({ state: { paused: false }, action: {} }), trigger: async () => {} }),
  };
  const added: object[] = [];
  let looks = 0;
  let mayAdd = true;
  const operatorService = {
    listSearchAttributes: async () => {
      looks += 1;
      return looks > 3 ? { customAttributes: {} } : withAttributes.operatorService.listSearchAttributes();
    },
    addSearchAttributes: async (asked: object) => {
      if (!mayAdd) throw Object.assign(new Error('not you'), { code: 7, details: '', metadata: {} });
      added.push(asked);
    },
  };
  await withChecks({ schedule, connection: { operatorService }, everyMs: 10 }, async (schedules, told) => {
    schedules.renew();
    await until('they are made again', () => added.length >= 1);
    expect(told).toEqual([]);
    mayAdd = false;
    const then = looks;
    await until('it was looked often', () => looks > then + 10);
    expect(told).toEqual([{ missing: Object.keys(searchAttributes) }]);
  });
});

test('a worker on a server whose attributes nobody may read reports it once, however often it starts', async () => {
  let runs = 0;
  const schedule = {
    create: async () => {},
    getHandle: () => ({
      describe: async () => ({ state: { paused: false }, action: {} }),
      trigger: async () => {
        runs += 1;
      },
    }),
  };
  const operatorService = {
    listSearchAttributes: async () => {
      throw Object.assign(new Error('not you'), { code: 7, details: '', metadata: {} });
    },
  };
  await withChecks({ schedule, connection: { operatorService }, everyMs: 900_000 }, async (schedules, told) => {
    for (let connections = 1; connections <= 3; connections++) {
      await schedules.prepare();
      schedules.renew();
      await until('the schedules are renewed', () => runs === connections);
    }
    expect(told).toEqual([{ missing: Object.keys(searchAttributes) }]);
  });
});

test('another installation in the namespace is reported once, as soon as its schedules are seen', async () => {
  let theirs: string | undefined;
  let looks = 0;
  const schedule = {
    create: async () => {},
    getHandle: () => ({
      describe: async () => {
        looks += 1;
        return { state: { paused: false }, action: { memo: { issuer: theirs ?? issuer } } };
      },
      trigger: async () => {},
    }),
  };
  await withChecks({ schedule, everyMs: 10 }, async (schedules, told) => {
    schedules.renew();
    await until('it was looked', () => looks > 10);
    expect(told).toEqual([]);
    theirs = 'https://id.example.org';
    await until('it is said', () => told.length > 0);
    const then = looks;
    await until('it was looked often', () => looks > then + 50);
    expect(told).toEqual([{ issuer: theirs }]);
  });
});
