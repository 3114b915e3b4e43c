import { Client, Connection } from '@temporalio/client';
import { LessThanOrEqual, MoreThan } from 'typeorm';
import { type OpenQuery, openKinds } from '../../../../src/domain/processes/open.js';
import { hours, systemClock } from '../../../../src/platform/clock.js';
import type { Db } from '../../../../src/platform/database/db.js';
import { openDb } from '../../../../src/platform/database/open-db.js';
import { type ProcessName, workflowIdOf } from '../../../../src/platform/process-kinds.js';
import { nilUuid } from '../../../../src/platform/uuid.js';
import { rowsAsOwner } from '../../../support/database.js';
import { until } from '../../../support/until.js';
import type { World } from '../world.js';
import type { Looked } from './looked.js';

/** Pending work that waits for nobody: after a while there must be none. */
const unfinished = `
select 'outbox' as what, count(*)::int from outbox
union all select 'webhook queue', count(*)::int from webhook_queue
union all select 'mails', count(*)::int from emails where status = 'pending'
union all select 'deliveries', count(*)::int from webhook_deliveries where status = 'pending'
union all select 'invites whose time is over', count(*)::int from identity_invites where status = 'pending' and expires_at < now()`;

const kinds = openKinds({ reminderAfterMs: hours(20), now: systemClock });

/** Returns the ids of the workflows whose rows wait, found as the reconciler finds them. */
async function waitingIn(db: Db): Promise<Set<string>> {
  const look = { id: MoreThan(nilUuid), since: LessThanOrEqual(systemClock()), take: 100_000 };
  const names = Object.keys(kinds) as ProcessName[];
  const ids = await Promise.all(
    names.map((name) =>
      db.transaction('system', async (tx) => {
        const rows = await (kinds[name] as OpenQuery<ProcessName>)(tx, look);
        return rows.map(({ input }) => workflowIdOf(name, input));
      }),
    ),
  );
  return new Set(ids.flat());
}

const schedules = /^(event-counting|housekeeping|reconciler|signing-key-rotation)/;
const wholeEnds = ['COMPLETED', 'CONTINUED_AS_NEW', 'CANCELLED'];

/** Checks that every workflow has ended, or waits over a row that waits. */
export async function processesAreOver({ service, find }: World): Promise<Looked> {
  await until('all that was promised is done', async () => {
    const left = (await rowsAsOwner(service.ownerUrl, unfinished, [])).filter(({ count }) => count !== 0);
    if (left.length > 0) throw new Error(left.map(({ what, count }) => `${count} in ${what}`).join(', '));
    return true;
  }).catch((error: Error) => find(error.message));

  const connection = await Connection.connect({ address: service.temporalAddress });
  const { workflow } = new Client({ connection });
  const db = await openDb({ url: service.databaseUrl, poolSize: 2, applicationName: 'faults', onError: () => {} });
  const all = async (query: string) => {
    const found: { id: string; type: string; status: string }[] = [];
    for await (const { workflowId, type, status } of workflow.list({ query })) {
      found.push({ id: workflowId, type, status: status.name });
    }
    return found;
  };
  try {
    await until('what runs are the workflows of rows that wait', async () => {
      const rowsThatWait = await waitingIn(db);
      const running = (await all('ExecutionStatus = "Running"')).filter(({ id }) => !schedules.test(id));
      const alone = running.filter(({ id }) => !rowsThatWait.has(id)).map(({ id }) => `${id} has no row`);
      const ids = new Set(running.map(({ id }) => id));
      const lost = [...rowsThatWait].filter((id) => !ids.has(id)).map((id) => `${id} does not run`);
      if (alone.length + lost.length > 0) throw new Error([...alone, ...lost].slice(0, 10).join(', '));
      return true;
    }).catch((error: Error) => find(error.message));
    const ended = await all('ExecutionStatus != "Running"');
    for (const { id, status } of ended) if (!wholeEnds.includes(status)) find(`workflow ${id} is ${status}`);
    const running = await all('ExecutionStatus = "Running"');
    return [
      ['workflows that ended', ended.length],
      ['workflows that wait', running.length],
    ];
  } finally {
    await Promise.all([connection.close(), db.close()]);
  }
}
