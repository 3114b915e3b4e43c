import { after, days } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { nilUuid } from '../../platform/uuid.js';
import { sweepClosedAccount } from '../account-closing/closed-accounts.js';
import { renewWaymarks } from '../identities/waymarks.js';
import { sweepRemovedClients } from '../oidc/clients/removed-clients.js';
import { warnOfCertificates } from '../sso-connections/certificate-warnings.js';
import type { SweptStep } from '../sweeping.js';
import { endSomeStopped } from '../webhooks/stops.js';
import { countEvents, maintainEvents } from './events.js';
import { cutOff, inProgress, rules } from './rules.js';
import { byColumn, endedGrants, fromTheFirst, mergedCounts, sessionsOfGrants, walkSessions } from './statements.js';

/** How far a run has come. */
export interface SweepPlace {
  /** The rule that the run is at. */
  rule: string;
  /**
   * The last session, Account, connection, stop, client or Environment that was visited; or the moment up to which rows
   * were deleted.
   */
  after: string | null;
  /** How many sessions this run has visited. */
  looked: number;
}
export interface SweptBatch {
  table: string;
  deleted: number;
  /** Null when everything has been swept. */
  next: SweepPlace | null;
}

/** How many sessions a run visits, the latest ones: more than expire between two runs. */
const sessionsPerRun = 250_000;
const byName = new Map(rules.map((rule) => [rule.name ?? rule.table, { rule, statement: byColumn(rule) }]));
const order = [
  'webhook_stops',
  'removed_clients',
  'grants',
  'sessions',
  ...byName.keys(),
  'accounts',
  'counts',
  'waymarks',
  'events',
  'certificates',
];

export type Housekeeping = ReturnType<typeof createHousekeeping>;

export interface HousekeepingDeps {
  db: Db;
  /**
   * Decides what has expired. Deletion is final, so this clock must not be ahead of PostgreSQL's (`notAhead`).
   */
  now(): Date | Promise<Date>;
  /** How long events are kept, 90 days at least; they are dropped by whole months. */
  auditRetentionDays: number;
}

/**
 * Deletes rows whose retention has ended, one batch per call, each in a short transaction of its own; at the end it
 * warns of certificates that expire soon.
 */
export function createHousekeeping({ db, now, auditRetentionDays }: HousekeepingDeps) {
  async function sweepGrants(from: string | null, batchSize: number, at: Date): Promise<Batch> {
    const end = after(at, -inProgress);
    const values = [end, batchSize, from ?? fromTheFirst({})];
    const [row] = await db.statement<Batch & { sessionIds: string[] }>(endedGrants, values);
    const { sessionIds, ...batch } = row!; // an aggregate: there is always one
    if (sessionIds.length > 0) await db.statement(sessionsOfGrants, [end, sessionIds]);
    return batch;
  }

  async function walk({ after: last, looked }: SweepPlace, batchSize: number, at: Date) {
    const [expiresAt, id] = last?.split('|') ?? [];
    const [row] = await db.statement<{ deleted: number; looked: number; last: string | null }>(walkSessions, [
      after(at, -inProgress),
      batchSize,
      expiresAt ?? 'infinity', // PostgreSQL's own text: a Date has no microseconds, and the walk would not get past one
      id ?? nilUuid,
    ]);
    const batch = row!;
    const walked = looked + batch.looked;
    const goesOn = batch.looked === batchSize && walked < sessionsPerRun;
    return {
      deleted: batch.deleted,
      next: goesOn ? { rule: 'sessions', after: batch.last, looked: walked } : null,
    };
  }

  async function sweepBy({ rule: name, after: from }: SweepPlace, batchSize: number, at: Date): Promise<Batch> {
    const { rule, statement } = byName.get(name)!;
    const end = cutOff(rule, { now: at, eventsRetentionMs: days(auditRetentionDays) });
    const [row] = await db.statement<Batch>(statement, [end, batchSize, from ?? fromTheFirst(rule)]);
    return row!;
  }

  /** The steps that walk along a table by ids, each with places of its own. */
  const steps = new Map<string, (place: string | null, batchSize: number, at: Date) => Promise<SweptStep>>([
    ['webhook_stops', (place, batchSize) => endSomeStopped(db, place, batchSize)],
    ['removed_clients', (place, batchSize, at) => sweepRemovedClients(db, place, batchSize, at)],
    ['accounts', (place, batchSize, at) => sweepClosedAccount({ db, now: () => at }, place, batchSize)],
    ['waymarks', async (place) => ({ swept: 0, next: (await renewWaymarks(db, place)).next })],
    [
      'certificates',
      async (place, batchSize, at) => ({
        swept: 0,
        next: await warnOfCertificates(db, place ?? nilUuid, batchSize, at),
      }),
    ],
  ]);

  return {
    /** Counts events. It runs on its own, more often than the rest. */
    countEvents: (): Promise<void> => countEvents(db),

    /** @param place where the batch before this one left off; null begins a run */
    async sweep(place: SweepPlace | null, batchSize: number): Promise<SweptBatch> {
      const here = place ?? begin(order[0]!);
      const at = await now();
      const following = order[order.indexOf(here.rule) + 1];
      const next = following === undefined ? null : begin(following);
      const step = steps.get(here.rule);
      if (step) {
        const { swept, next: further } = await step(here.after, batchSize, at);
        return { table: here.rule, deleted: swept, next: further === null ? next : { ...here, after: further } };
      }
      if (here.rule === 'sessions') {
        const walked = await walk(here, batchSize, at);
        return { table: 'sessions', deleted: walked.deleted, next: walked.next ?? next };
      }
      if (here.rule === 'counts') {
        const [row] = await db.statement<{ merged: number }>(mergedCounts, []);
        return { table: 'row_counts', deleted: row!.merged, next };
      }
      if (here.rule === 'events') {
        const dropped = await maintainEvents(db, auditRetentionDays);
        return { table: 'months of events', deleted: dropped, next: dropped === 0 ? next : here };
      }
      const sweeping = here.rule === 'grants' ? sweepGrants(here.after, batchSize, at) : sweepBy(here, batchSize, at);
      const { deleted, last } = await sweeping;
      const table = byName.get(here.rule)?.rule.table ?? here.rule;
      return { table, deleted, next: deleted === batchSize ? { ...here, after: last } : next };
    },
  };
}

/** What a batch has deleted, and up to when. */
interface Batch {
  deleted: number;
  last: string | null;
}

const begin = (rule: string): SweepPlace => ({ rule, after: null, looked: 0 });
