import { resetTo, shownOf, stepsOf } from '../by-hand.js';
import type { Random } from '../random.js';
import { until } from '../until.js';
import type { ProcessWorld } from './world.js';

/** A row with a process, as a model says that it is once nothing is under way. */
export interface Row {
  table: string;
  id: string;
  workflowId: string;
  /** What its events name instead of it. */
  subjectId?: string;
  status: string;
  /** What was recorded about it that a model knows of, without the first part of the name, in alphabetical order. */
  events: string[];
  /** The mails that were sent because time passed: what is behind the id in their causes. */
  mails: string[];
  /** The mail that has its link. */
  link?: string;
  /** When it ends by itself, unless something happens before; support sees that moment. */
  deadline?: number;
  /** What a cancel in the Temporal UI does. */
  stop(): void;
}

/** The status of a row that nobody models for now. */
export const unknown = 'unknown';

/** Something to do now. */
export interface Act {
  name: string;
  /** Does it; returns the outcome. */
  send(): Promise<string>;
  /** Does it to the model; returns the right outcome. */
  apply(): string;
  /** Whether nothing else may be done until all is at rest: the outcome would depend on the order. */
  isLast?: boolean;
  /** Whether it can also be done twice at once. */
  isTwice?: boolean;
}

/** Something that happens to rows that belong together, with a model of them. */
export interface Subject {
  rows: Row[];
  /** Draws an act. @param isFirst whether all is at rest */
  draw(isFirst: boolean): Promise<Act | undefined> | Act | undefined;
  /** Has everything happen that does by itself until now, in the model. */
  passes(): void;
  /** What is tried when its time is over and no worker has noticed; the model has. */
  late?(): Act[];
  /** Returns what else is wrong. */
  wrong?(): Promise<string[]>;
}

const open: Record<string, readonly string[]> = {
  administrator_invites: ['pending'],
  identity_invites: ['pending'],
  pending_registrations: ['pending'],
  account_intents: ['parked'],
  email_changes: ['pending'],
  role_assignment_windows: ['running'],
  mfa_graces: ['running'],
  sso_domains: ['pending', 'verified', 'lapsed'],
  erasures: ['running'],
  environment_removals: ['running'],
};
export const isOpen = ({ table, status }: Pick<Row, 'table' | 'status'>): boolean => open[table]!.includes(status);

/** Draws something that support does to a row's workflow in the Temporal UI. */
function drawByHand(world: ProcessWorld, random: Random, rows: readonly Row[]): Act | undefined {
  const row = random.of(rows.filter(isOpen));
  if (!row) return undefined;
  const { workflowId } = row;
  const handle = world.handleOf(workflowId);
  const act = random.of(['cancel', 'cancel', 'terminate', 'reset'] as const);
  const send = {
    async cancel() {
      await handle.cancel();
      if (!world.isWorking()) return 'done';
      await until('it has stopped', async () => (await world.runOf(workflowId))?.status.name !== 'RUNNING');
      return 'done';
    },
    terminate: async () => (await handle.terminate()) && 'done',
    async reset() {
      const [first] = await stepsOf(handle);
      const run = await world.runOf(workflowId);
      if (first && run) await resetTo(world.client, workflowId, run.runId, first);
      return 'done';
    },
  };
  return {
    name: `${act} ${workflowId}`,
    isLast: true,
    send: send[act],
    apply() {
      if (act === 'cancel') row.stop();
      return 'done';
    },
  };
}

/** Does it, or does it several times at once. @throws Error with what was told before, if an outcome is wrong */
async function take(act: Act, times: number, told: string[]): Promise<void> {
  const outcomes = await Promise.all(Array.from({ length: times }, () => act.send()));
  const right = Array.from({ length: times }, () => act.apply());
  told.push(`${act.name}: ${outcomes.join(' and ')}`);
  if (outcomes.toSorted().join() !== right.toSorted().join())
    throw new Error(`${told.join('\n')}, and not ${right.join(' and ')}`);
}

/** Tries what comes too late. */
export const takeLate = async (subject: Subject): Promise<void> => {
  for (const act of subject.late?.() ?? []) await take(act, 1, ['too late']);
};

/** Takes some steps with a subject. @returns a line about each */
export async function takeSteps(world: ProcessWorld, random: Random, subject: Subject): Promise<string[]> {
  const told: string[] = [];
  const steps = random.between(1, 3);
  for (let i = 0; i < steps; i++) {
    const byHand = i === 0 && random.below(4) === 0 ? drawByHand(world, random, subject.rows) : undefined;
    const act = byHand ?? (await subject.draw(i === 0));
    if (!act) continue;
    const times = act.isTwice && random.below(4) === 0 ? 2 : 1;
    await take(act, times, told);
    if (act.isLast) break;
  }
  return told;
}

interface Seen {
  id: string;
  status: string | null;
  events: string[] | null;
  mails: string[] | null;
}
const seenText = `
select ids.id, ids.status,
  (select array_agg(action order by action) from events e where e.resource_id = subjects.id and e.resource_type <> 'process') as events,
  (select array_agg(substr(cause, strpos(cause, ids.id::text) + 37) order by cause) from emails m
   where m.cause like '%' || ids.id::text || '%' and m.status = 'sent') as mails
from (${Object.keys(open)
  .map((table) => `select id, status from ${table} where id = any($1::uuid[])`)
  .join(' union all ')}) ids join unnest($1::uuid[], $2::text[]) as subjects (row_id, id) on row_id = ids.id`;
/** Mails about a change, and not about a time that has come, may be pointless when their turn comes. */
const isAboutTime = (cause: string) => /reminder|role_assignment|^\d/.test(cause);
const isTold = (action: string) => /expir|activated|cancelled|revoked|lapsed|failed|verified/.test(action);

/** Returns what differs from the models. @param watched whose workflows may have done something */
export async function differences(
  world: ProcessWorld,
  subjects: readonly Subject[],
  watched: ReadonlySet<string>,
): Promise<string[]> {
  const rows = subjects.flatMap((subject) => subject.rows);
  const seen = await world.query<Seen>(
    seenText,
    rows.map(({ id }) => id),
    rows.map(({ id, subjectId }) => subjectId ?? id),
  );
  const byId = new Map(seen.map((one) => [one.id, one]));
  const wrong = await Promise.all(
    rows.map(async (row): Promise<string[]> => {
      if (row.status === unknown) return [];
      const found = byId.get(row.id);
      const isRunning = watched.has(row.workflowId) && (await world.runOf(row.workflowId))?.status.name === 'RUNNING';
      const sent = found?.mails ?? [];
      const link = isOpen(row) ? row.link : undefined;
      const deadline = isRunning && row.deadline ? new Date(row.deadline).toISOString() : null;
      const sentence = deadline && (await shownOf(world.handleOf(row.workflowId))).currentDetails;
      const is = [
        found?.status ?? 'gone',
        isRunning,
        found?.events?.filter(isTold).map((action) => action.split('.').at(-1)) ?? [],
        sent.filter(isAboutTime),
        link && !sent.includes(link) ? 'no link' : '',
        deadline && !sentence?.includes(deadline) ? `not until ${deadline}` : '',
      ];
      const right = [row.status, isOpen(row), row.events.toSorted(), row.mails.toSorted(), '', ''];
      if (JSON.stringify(is) === JSON.stringify(right)) return [];
      return [`${row.table} ${row.id} is ${JSON.stringify(is)} and not ${JSON.stringify(right)}`];
    }),
  );
  const more = await Promise.all(subjects.map((subject) => subject.wrong?.() ?? []));
  return [...wrong, ...more].flat();
}
