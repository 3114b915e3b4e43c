import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { RoleAssignment } from '../../entities/role-assignment.js';
import { closeWindows } from '../../src/domain/access/windows/rows.js';
import { createErasures } from '../../src/domain/erasures/erasures.js';
import { removeSubtrees } from '../../src/domain/hierarchy/removal.js';
import { minutes, seconds } from '../../src/platform/clock.js';
import { createProcesses, type Processes } from '../../src/temporal/processes.js';
import { reconcileNow } from '../../src/temporal/schedules.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { recordHistory } from '../support/histories.js';
import { patient } from '../support/patience.js';
import { aHolder, assignWindow, type TestHolder } from '../support/role-windows.js';
import { historyText, namespace, startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { startTestWorker } from '../support/test-worker.js';
import { until } from '../support/until.js';

// The whole way: the row and its message, the relay, Temporal, the worker, and the recorded events.
let temporal: TestTemporal;
let database: TestDatabase;
let processes: Processes;
let worker: ReturnType<typeof startTestWorker>;
const startWorker = () => startTestWorker(database, temporal, processes, { roleNotices: [seconds(10), seconds(5)] });

beforeAll(async () => {
  [temporal, database] = await Promise.all([startTestTemporal(), newDatabase({ poolSize: 10 })]);
  processes = createProcesses({ address: temporal.address, namespace, apiKey: null }, patient);
  worker = startWorker();
});
afterAll(async () => {
  await worker.stop();
  await processes.close();
  await temporal.stop();
  await database.close();
});

/** When a role begins and ends, in seconds from its assignment. */
interface Window {
  from?: number;
  to?: number | Date;
  notify?: boolean;
}
type Given = RoleAssignment & { holder: TestHolder };
/** Assigns a role; once more, to another holder, if the machine stalled until the beginning had passed. */
async function assign({ from, to, notify }: Window, asked?: TestHolder): Promise<Given> {
  const holder = asked ?? (await aHolder(database));
  const at = (count: number) => new Date(Date.now() + seconds(count));
  const assignment = await assignWindow(database, holder, {
    from: from === undefined ? undefined : at(from),
    to: typeof to === 'number' ? at(to) : to,
    notify,
  });
  const { effectiveFrom, createdAt } = assignment;
  return effectiveFrom && effectiveFrom <= createdAt ? assign({ from, to, notify }) : { ...assignment, holder };
}
const handleOf = ({ id }: RoleAssignment) => processes.client.workflow.getHandle(`role-assignment/${id}`);
const statusOf = async (assignment: RoleAssignment) =>
  (
    await handleOf(assignment)
      .describe()
      .catch(() => null)
  )?.status.name ?? 'NOT_FOUND';
const ends = (assignment: RoleAssignment, status: string) =>
  until(`${status}`, async () => (await statusOf(assignment)) === status);
const begins = (assignment: RoleAssignment) =>
  until('its process', async () => (await statusOf(assignment)) !== 'NOT_FOUND');
const runs = async (assignment: RoleAssignment) => {
  await begins(assignment);
  await until('its first look', async () => (await handleOf(assignment).fetchHistory()).events!.length >= 10);
};
/**
 * Works while a window is open; with another window if that one ended sooner.
 * @param work returns whether it succeeded
 */
async function whileOpen(
  window: Window,
  work: (assignment: RoleAssignment) => Promise<boolean>,
): Promise<RoleAssignment> {
  const assignment = await assign(window);
  return (await work(assignment)) ? assignment : whileOpen(window, work);
}
const unlessEnded = (request: Promise<unknown>) =>
  request.then(
    () => true,
    (error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    },
  );
const rowOf = async ({ id }: RoleAssignment) =>
  (
    await rowsAsOwner(database.ownerUrl, 'select status, ended_reason from role_assignment_windows where id = $1', [id])
  )[0];
/** Returns the events of an assignment's window, in order. */
const told = async ({ id }: RoleAssignment) =>
  (await rowsAsOwner(
    database.ownerUrl,
    `select action, metadata ->> 'at' as at, created_at, environment_id, application_id, account_id, metadata from events
     where resource_id = $1 and action <> 'role_assignment.created' order by created_at, id`,
    [id],
  )) as { action: string; at: string; created_at: Date; metadata: object }[];
const actions = async (assignment: RoleAssignment) =>
  (await told(assignment)).map(({ action }) => action.replace('role_assignment.', ''));
const removeIt = (assignment: RoleAssignment) =>
  database.db.transaction('system', async (tx) => {
    const at = new Date();
    await tx.query('update role_assignments set removed_at = $2 where id = $1', [assignment.id, at]);
    await closeWindows(tx, [assignment.id], at);
  });

// Each test has its own holder, and most tests wait: they wait together.
test.concurrent('a role is activated, expiring and expired, each once, on time and by mail; its history names nobody', async () => {
  const assignment = await assign({ from: 3, to: 15, notify: true });
  const { holder } = assignment;
  const [from, to] = [assignment.effectiveFrom as Date, assignment.effectiveTo as Date];
  await ends(assignment, 'COMPLETED');
  expect(await handleOf(assignment).result()).toBe('completed');
  const events = await told(assignment);
  expect(events.map(({ action, at }) => [action, at])).toEqual([
    ['role_assignment.activated', from.toISOString()],
    ['role_assignment.expiring', new Date(to.getTime() - seconds(10)).toISOString()],
    ['role_assignment.expiring', new Date(to.getTime() - seconds(5)).toISOString()],
    ['role_assignment.expired', to.toISOString()],
  ]);
  for (const { at, created_at } of events) {
    const lateMs = created_at.getTime() - Date.parse(at);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(minutes(4)); // a busy machine; a sweep would come every five minutes
  }
  expect(events[0]).toMatchObject({
    account_id: holder.scope.accountId,
    environment_id: holder.scope.environmentId,
    application_id: holder.scope.applicationId,
    metadata: { identity_id: holder.identityId, role_id: holder.roleId, node_id: holder.nodeId },
  });
  expect(await rowOf(assignment)).toEqual({ status: 'completed', ended_reason: null });
  const mails = () => worker.sent.filter(({ to }) => to === holder.email).map(({ name }) => name);
  await until('the last mail', async () => mails().includes('role-expired'));
  // On a busy machine a mail may have become pointless when its turn comes, and is not sent then.
  for (const [name, most] of [
    ['role-activated', 1],
    ['role-expiring', 2],
    ['role-expired', 1],
  ] as const)
    expect(mails().filter((one) => one === name).length).toBeLessThanOrEqual(most);
  const history = await historyText(handleOf(assignment));
  expect(history).toContain(assignment.id);
  for (const secret of [holder.email, 'private.example', 'Rosalind', 'A unit']) expect(history).not.toContain(secret);
  await recordHistory('role-window-completed', handleOf(assignment));
});

test.concurrent('a role without a future bound has no process; one that only begins has one event', async () => {
  const open = await assign({});
  expect(await rowOf(open)).toBeUndefined();
  await removeIt(open);
  const assignment = await assign({ from: 3 });
  await ends(assignment, 'COMPLETED');
  expect(await actions(assignment)).toEqual(['activated']);
  expect(worker.sent.filter(({ to }) => to === assignment.holder.email)).toEqual([]); // notices were not requested
  expect(await statusOf(open)).toBe('NOT_FOUND');
});

test.concurrent('a role that ends in eight thousand years has a process that waits', async () => {
  const assignment = await assign({ to: new Date('9999-12-31T23:59:59Z') });
  await runs(assignment);
  await handleOf(assignment).signal('changed');
  await until('it looked again', async () => (await handleOf(assignment).fetchHistory()).events!.length >= 17);
  expect([await statusOf(assignment), await actions(assignment)]).toEqual(['RUNNING', []]);
});

test.concurrent('a role that is removed before its end has no further events', async () => {
  const assignment = await assign({ from: 3, to: 3600 });
  await until('it begins', async () => (await actions(assignment)).length === 1);
  await removeIt(assignment);
  await ends(assignment, 'COMPLETED');
  expect(await handleOf(assignment).result()).toBe('removed');
  expect(await actions(assignment)).toEqual(['activated']);
  expect(await rowOf(assignment)).toEqual({ status: 'removed', ended_reason: 'assignment_removed' });
  await recordHistory('role-window-removed', handleOf(assignment));
});

test.concurrent('a role that is removed without a signal ends at its next moment, without an event', async () => {
  const takenAway = async (ahead: number): Promise<RoleAssignment> => {
    const one = await assign({ from: ahead, to: 3600 });
    await runs(one);
    const removed = await rowsAsOwner(
      database.ownerUrl,
      'update role_assignments set removed_at = clock_timestamp() where id = $1 and effective_from > clock_timestamp() returning id',
      [one.id],
    );
    return removed.length ? one : takenAway(2 * ahead); // its moment came first
  };
  const assignment = await takenAway(8);
  await ends(assignment, 'COMPLETED');
  expect(await actions(assignment)).toEqual([]);
  expect(await rowOf(assignment)).toEqual({ status: 'removed', ended_reason: 'assignment_removed' });
});

test.concurrent('a role’s process ends at once when its node is deleted, or its identity erased', async () => {
  let holder = await aHolder(database);
  const atNode = await assign({ to: 3600 }, holder);
  await runs(atNode);
  expect(await handleOf(atNode).query('state')).toBe('running');
  const { searchAttributes } = await handleOf(atNode).describe();
  expect(searchAttributes).toMatchObject({
    GatehouseState: ['running'],
    GatehouseSubjectId: [holder.identityId],
    GatehouseEnvironmentId: [holder.scope.environmentId],
  });
  await database.db.transaction(holder.scope, (tx) => removeSubtrees(tx, holder.scope, [holder.nodeId], new Date()));
  await ends(atNode, 'COMPLETED');
  expect(await handleOf(atNode).result()).toBe('removed');
  holder = await aHolder(database);
  const ofIdentity = await assign({ to: 3600 }, holder);
  await runs(ofIdentity);
  await createErasures({ db: database.db, now: worker.now }).request(holder.scope, holder.identityId);
  await ends(ofIdentity, 'COMPLETED');
  expect(await handleOf(ofIdentity).result()).toBe('removed');
});

test.concurrent.each<[string, Window, string[]]>([
  ['beginning', { from: 3600, to: 7200 }, []],
  ['first notice', { to: 3600 }, []],
  ['second notice', { to: 12 }, ['expiring']],
  ['end', { to: 12 }, ['expiring', 'expiring']],
])('a process cancelled before its %s ends its events and leaves the window', async (name, window, before) => {
  const assignment = await whileOpen(window, async (one) => {
    await runs(one);
    await until('what comes before', async () => (await actions(one)).length >= before.length);
    if (!(await unlessEnded(handleOf(one).cancel()))) return false;
    await until('its end', async () => (await statusOf(one)) !== 'RUNNING');
    return (await statusOf(one)) !== 'COMPLETED';
  });
  expect(await statusOf(assignment)).toBe('CANCELLED');
  expect(await handleOf(assignment).query('state')).toBe('cancelled');
  expect(await rowOf(assignment)).toEqual({ status: 'cancelled', ended_reason: 'cancelled_by_operator' });
  expect((await actions(assignment)).at(-1)).toBe('window_cancelled');
  expect(await actions(assignment)).not.toContain('expired');
  const [row] = await rowsAsOwner(
    database.ownerUrl,
    'select effective_from, effective_to, removed_at from role_assignments where id = $1',
    [assignment.id],
  );
  const { effectiveFrom, effectiveTo } = assignment;
  expect(row).toEqual({ effective_from: effectiveFrom, effective_to: effectiveTo, removed_at: null });
  await recordHistory(`role-window-cancelled-before-its-${name.replace(' ', '-')}`, handleOf(assignment));
});

test.concurrent('a process that was terminated by mistake goes on, and repeats no event', async () => {
  const assignment = await whileOpen({ from: 3, to: 18 }, async (one) => {
    await until('it begins', async () => (await actions(one)).length > 0);
    return unlessEnded(handleOf(one).terminate('by mistake'));
  });
  await until('it runs again', async () => {
    await reconcileNow(processes.client);
    await sleep(1500);
    return ['RUNNING', 'COMPLETED'].includes(await statusOf(assignment));
  });
  await ends(assignment, 'COMPLETED');
  expect(await actions(assignment)).toEqual(['activated', 'expiring', 'expiring', 'expired']);
});

// The only test that needs the worker for itself.
test('while no worker runs nothing is lost: each moment has its event once, later', async () => {
  const assignment = await assign({ from: 5, to: 16 });
  await runs(assignment);
  await worker.stop();
  await until('its end', async () => new Date() > (assignment.effectiveTo as Date));
  worker = startWorker();
  await ends(assignment, 'COMPLETED');
  expect(await actions(assignment)).toEqual(['activated', 'expiring', 'expiring', 'expired']);
});
