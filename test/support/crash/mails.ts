import { randomUUID } from 'node:crypto';
import { planEmail, queueEmail } from '../../../src/domain/emails/queue.js';
import { minutes, seconds } from '../../../src/platform/clock.js';
import { emailId } from '../../../workflows/ids.js';
import { endOf, outcomeOf } from './outcome.js';
import type { Begin, CrashRun, CrashWorld } from './world.js';

/** Queues a mail to an address of this domain: about a failed intent, for which no other process runs. */
async function aMail({ query, database }: CrashWorld, domain: string, write: typeof planEmail) {
  const [subjectId, userId] = [randomUUID(), randomUUID()];
  const address = `${userId}@${domain}`;
  await query(
    `insert into users (id, email, first_name, last_name, created_at, updated_at) values ($1, $2, 'A', 'B', now(), now())`,
    userId,
    address,
  );
  await query(
    `insert into account_intents (id, user_id, account_name, application_name, locale, status, correlation_id, created_at, expires_at, ended_at)
     values ($1, $2, 'a', 'b', 'en', 'failed', gen_random_uuid(), now(), now(), now())`,
    subjectId,
    userId,
  );
  const cause = `crash/${subjectId}`;
  const mail = { template: 'account-creation-failed', locale: 'en', subjectId, cause } as const;
  await database.db.transaction('system', (tx) => write(tx, mail, new Date()));
  const [row] = await query('select id from emails where cause = $1', cause);
  return { id: row?.id as string, address, subjectId };
}

const mailRun =
  (
    deaths: readonly string[],
    { domain, giveUpAfterMs, act }: { domain: string; giveUpAfterMs?: number; act?: CrashAct },
  ): Begin =>
  async (world): Promise<CrashRun> => {
    const ourselves = giveUpAfterMs !== undefined;
    const { id, address, subjectId } = await aMail(world, domain, ourselves ? planEmail : queueEmail);
    const workflowId = emailId(id);
    if (ourselves) {
      const input = { emailId: id, subjectId, giveUpAfterMs, firstRetryMs: 500, longestRetryMs: 500 };
      const options = { taskQueue: 'email', workflowId, args: [input] };
      await world.processes.client.workflow.start('emailDelivery', options);
    }
    // The reason of a mail that is given up is that of its last attempt, which may have died with its worker.
    const row = { table: 'emails', id, columns: 'status' };
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, workflowId) }),
      left: () => outcomeOf(world, { workflowId, row, address }),
    };
  };
type CrashAct = (world: CrashWorld, workflowId: string) => Promise<unknown>;

/** Cancels between two attempts, as in the Temporal UI. */
const cancelTried: CrashAct = async ({ temporal, awaits }, workflowId) => {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const attempts = async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt ?? 0;
  await awaits('it was tried', async () => (await attempts()) > 1);
  await handle.cancel();
};

/** Kills a worker after the mail server has accepted a mail and before the row is updated. Returns the outcome. */
export async function dieUnheard(world: CrashWorld) {
  const { id, address } = await aMail(world, 'example.com', queueEmail);
  const begun = Date.now();
  const worker = world.startWorker();
  world.mails.insteadOfAnAnswer(address, () => worker.kill());
  await worker.exited;
  world.sawFirstMailAfter(Date.now() - begun);
  const [row] = await world.query('select status from emails where id = $1', id);
  return {
    statusThen: row?.status,
    async left() {
      const end = await endOf(world, emailId(id));
      const [{ status } = {}] = await world.query('select status from emails where id = $1', id);
      return { ...end, row: status, delivered: world.mails.deliveredTo(address) };
    },
  };
}

export const mailRuns = {
  'a mail that is sent': mailRun(['sendEmail'], { domain: 'example.com' }),
  'a mail that is given up': mailRun(['giveUpEmail'], { domain: 'away.example', giveUpAfterMs: seconds(5) }),
  'a mail that an operator cancels': mailRun(['cancelEmail'], {
    domain: 'away.example',
    giveUpAfterMs: minutes(10),
    act: cancelTried,
  }),
} satisfies Record<string, Begin>;
