import type { CrashWorld } from './world.js';

export interface Outcome {
  workflowId: string;
  /** The row that the process is about, and the columns to compare. */
  row: { table: string; id: string; columns: string };
  /** The address whose mails are counted. */
  address?: string;
  /** Further ids whose events are counted: of what was created, or of Accounts. */
  ids?: () => Promise<unknown[]>;
}

/** Returns how a run ended, with its row, mails and events: they must be the same with and without a crash. */
export async function outcomeOf(world: CrashWorld, { workflowId, row, address, ids }: Outcome) {
  const { query, mails } = world;
  const end = await endOf(world, workflowId);
  const emails = await settledMails(world, row.id);
  const [left] = await query(`select ${row.columns} from ${row.table} where id = $1`, row.id);
  const about = [row.id, ...emails.map(({ id }) => id), ...((await ids?.()) ?? [])];
  const events = await query(
    `select action, count(*)::int from events where resource_id = any($1::text[]) or account_id = any($1::uuid[])
     group by action order by action`,
    about,
  );
  return {
    ...end,
    row: left,
    emails: emails.map(({ template, status }) => `${template} ${status}`),
    delivered: address ? mails.messagesTo(address) : 0,
    events: Object.fromEntries(events.map(({ action, count }) => [action, count])),
  };
}

/** Waits for a workflow's end; returns its status, and its activities in the order in which it scheduled them. */
export async function endOf({ temporal, awaits }: CrashWorld, workflowId: string) {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const status = await awaits(`${workflowId} ends`, async () => {
    const { name } = (await handle.describe()).status;
    return name !== 'RUNNING' && name;
  });
  const result = status === 'COMPLETED' ? await handle.result() : null;
  return { status, result };
}

/** Returns the mails about a subject, once none of them waits. */
const settledMails = ({ query, awaits }: CrashWorld, subjectId: string) =>
  awaits(`the mails about ${subjectId} are settled`, async () => {
    const emails = await query(
      'select id, template, status from emails where subject_id = $1 order by template',
      subjectId,
    );
    return emails.every(({ status }) => status !== 'pending') ? emails : null;
  });

/** Waits until the first mail about a subject was sent. */
export const mailSent = ({ query, awaits }: CrashWorld, subjectId: string, template = '%') =>
  awaits(
    `a mail about ${subjectId} is sent`,
    async () =>
      (
        await query(
          `select id from emails where subject_id = $1 and status = 'sent' and template like $2`,
          subjectId,
          template,
        )
      ).length > 0,
  );
