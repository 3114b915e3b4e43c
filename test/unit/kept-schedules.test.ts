import type { Processes } from '../../src/temporal/processes.js';
import { keepSchedules, prepareServer } from '../../src/worker/kept-schedules.js';
import { until } from '../support/until.js';

test('a server that cannot be asked about schedules yet is asked again until it has ours, and reconciles then', async () => {
  const made: string[] = [];
  const triggered: string[] = [];
  let refusals = 3;
  const schedule = {
    async create({ scheduleId }: { scheduleId: string }) {
      if (refusals-- > 0) throw new Error('Failed to describe schedule');
      made.push(scheduleId);
    },
    getHandle: (id: string) => ({
      describe: async () => ({ state: { paused: false } }),
      trigger: async () => void triggered.push(id),
    }),
  };
  const processes = { client: { schedule } } as unknown as Processes;
  const stopping = new AbortController();
  const log = { warn() {}, info() {} };
  const schedules = keepSchedules(
    { processes, namespace: 'default', log, everyMs: 900_000, againMs: 5 },
    stopping.signal,
  );
  try {
    schedules.renew(); // answers at once
    await until('the reconciler runs', () => triggered.length === 1);
    expect(made).toEqual(['signing-key-rotation', 'housekeeping', 'reconciler']);
    schedules.renew(); // another worker has come
    await until('it runs again', () => triggered.length === 2);
  } finally {
    stopping.abort();
  }
});

test('a search attribute of another type is told of, since no workflow could be started with it; a missing one is made', async () => {
  const added: object[] = [];
  const operatorService = {
    listSearchAttributes: async () => ({ customAttributes: { GatehouseAccountId: 3, GatehouseState: 2 } }),
    addSearchAttributes: async (asked: object) => void added.push(asked),
  };
  const processes = { connection: { operatorService } } as unknown as Processes;
  const told: object[] = [];
  const log = { warn: (details: object) => void told.push(details), info() {} };
  await prepareServer({ processes, namespace: 'default', log });
  expect(told).toEqual([{ missing: ['GatehouseAccountId'] }]);
  expect(added).toEqual([
    { namespace: 'default', searchAttributes: { GatehouseEnvironmentId: 2, GatehouseSubjectId: 2 } },
  ]);
});
