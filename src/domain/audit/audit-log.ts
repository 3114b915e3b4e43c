import type { EntityManager } from 'typeorm';
import type { Db } from '../../platform/database/db.js';
import { tenantOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import type { FairQueue } from '../limits/fair-queue.js';
import { afterCursor, type CursorPlace, placeIn } from '../lists/cursors.js';
import { forwardRange, type Page, type PageRequest, pageOf, type RowRange } from '../lists/paging.js';
import { type Ask, askIn, statementOf } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { type AuditFilters, type AuditPlace, isPlannedOnce, timesOf } from './conditions.js';
import { countDays, locate, reach } from './days.js';
import { nameThePeople } from './labels.js';
import { type AuditRow, nearId, readAuditRows } from './rows.js';

export interface AuditDetail extends AuditRow {
  /** Rows with the same correlation id, this one included: oldest first, at most 50. */
  relatedByCorrelation: AuditRow[];
  /** Rows of the same actor in the hour that ends with this one, itself included: newest first, at most 10. */
  relatedByActor: AuditRow[];
}

const relatedByCorrelation = 50;
const relatedByActor = 10;
const rowsPerBatch = 500;

export type AuditPage = Pick<PageRequest, 'page' | 'take' | 'order' | 'after'>;

export interface AuditLogDeps {
  db: Pick<Db, 'transaction' | 'statement' | 'statementIn'>;
  broadReads: FairQueue;
}

export type AuditLog = ReturnType<typeof createAuditLog>;

/** The audit log of an Account, or of one of its Environments (specification, "Audit row"; docs/decisions/0027). */
export function createAuditLog({ db, broadReads }: AuditLogDeps) {
  const named = (accountId: string, rows: AuditRow[]) => nameThePeople(db, accountId, rows);

  const read = (place: AuditPlace, filters: AuditFilters, snapshot: string, after?: AuditRow): Promise<AuditRow[]> =>
    db.transaction(tenantOf(place), (tx) =>
      readAuditRows(askIn(tx), place, filters, {
        order: 'asc',
        take: rowsPerBatch,
        and: (put) => [
          ...timesOf(filters, put),
          `pg_visible_in_snapshot(coalesce(written_in, transaction_id)::text::xid8, ${put(snapshot)}::pg_snapshot)`,
          ...(after ? beyond(placeIn(after), put) : []),
        ],
      }),
    );

  /** Each batch takes a turn of its own. An export cannot be resumed, so it waits as long as it takes. */
  async function* batches(place: AuditPlace, filters: AuditFilters, snapshot: string, first: AuditRow[]) {
    const { accountId } = place;
    let rows = first;
    while (rows.length > 0) {
      yield await named(accountId, rows);
      const last = rows.at(-1);
      if (rows.length < rowsPerBatch) return;
      rows = await broadReads(() => read(place, filters, snapshot, last), accountId, { isPatient: true });
    }
  }

  return {
    /** Returns one page, in order of time. The total is exact, and a late page costs as much as the first. */
    async list(place: AuditPlace, filters: AuditFilters, page: AuditPage): Promise<Page<AuditRow>> {
      const scope = tenantOf(place);
      const found = await (isPlannedOnce(place, filters)
        ? readPage((text, values) => db.statementIn(scope, statementOf(text), values), place, filters, page)
        : db.transaction(scope, (tx) => readPage(askIn(tx), place, filters, page)));
      return { ...found, rows: await named(place.accountId, found.rows) };
    },

    /**
     * Returns one row with its related rows, and records who viewed it. Every 404 comes from the same single statement,
     * whatever its cause.
     * @throws DomainError audit.row_not_found
     */
    async view(place: AuditPlace, id: string): Promise<AuditDetail> {
      const { row, correlated, acted } = await db.transaction(tenantOf(place), async (tx) => {
        const [row] = await readAuditRows(
          askIn(tx),
          place,
          {},
          { order: 'asc', take: 1, and: (put) => [`id = ${put(id)}`, ...nearId(id, put)] },
        );
        if (!row) throw new DomainError('audit.row_not_found');
        const correlated = await correlatedWith(tx, place, row);
        const acted = await actedBefore(tx, place, row);
        const { accountId, applicationId, environmentId, action } = row;
        const about = { accountId, applicationId, environmentId, resourceId: id, resourceLabel: action };
        await recordEvent(tx, 'audit.row.viewed', about);
        return { row, correlated, acted };
      });
      const all = await named(place.accountId, [row, ...correlated, ...acted]);
      return {
        ...(all[0] as AuditRow),
        relatedByCorrelation: all.slice(1, 1 + correlated.length),
        relatedByActor: all.slice(1 + correlated.length),
      };
    },

    /**
     * Returns every row that existed at the call, oldest first, in batches, without those written meanwhile. The export
     * is itself recorded in the log.
     */
    async export(place: AuditPlace, filters: AuditFilters, format: string): Promise<AsyncGenerator<AuditRow[]>> {
      const begin = async (tx: EntityManager): Promise<string> => {
        const [now] = await tx.query<{ snapshot: string }[]>('select pg_current_snapshot()::text as snapshot');
        const chosen = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [name]));
        const { accountId, environmentId = null } = place;
        const metadata = { format, surface: place.surface, filters: chosen };
        await recordEvent(tx, 'audit.exported', { accountId, environmentId, resourceId: null, metadata });
        return now?.snapshot as string;
      };
      return broadReads(async () => {
        const snapshot = await db.transaction(tenantOf(place), begin);
        return batches(place, filters, snapshot, await read(place, filters, snapshot));
      }, place.accountId);
    },
  };
}

async function readPage(ask: Ask, place: AuditPlace, filters: AuditFilters, page: AuditPage): Promise<Page<AuditRow>> {
  const days = await countDays(ask, place, filters);
  const itemCount = days.reduce((sum, { count }) => sum + count, 0);
  const request = { ...page, sortBy: 'created_at' };
  const paged = (range: Pick<RowRange, 'count' | 'fromBack' | 'behind'>, rows: AuditRow[]) =>
    pageOf(request, itemCount, range, rows);
  const forwards = forwardRange(request);
  const { behind: last, direction } = forwards;
  if (last) {
    const within = reach(days, direction, new Date(last.createdAt), forwards.count);
    const and = (put: Bind) => [
      afterCursor(last, byAge, direction, put),
      ...timesOf(within, put),
      ...timesOf(filters, put),
    ];
    return paged(forwards, await readAuditRows(ask, place, filters, { order: direction, take: forwards.count, and }));
  }
  const count = Math.max(0, Math.min(page.take, itemCount - forwards.at));
  if (count === 0) return paged({ count, fromBack: false }, []);
  const start = locate(days, page.order, forwards.at, count);
  const rows = await readAuditRows(ask, place, filters, {
    order: start.direction,
    skip: start.skip,
    take: count,
    and: (put) => [...timesOf(start, put), ...timesOf(filters, put)],
  });
  return paged({ count, fromBack: start.reversed }, rows);
}

/** The related rows include the row itself, in the middle if there are more than fit. */
async function correlatedWith(tx: EntityManager, place: AuditPlace, row: AuditRow): Promise<AuditRow[]> {
  const { correlationId } = row;
  const others = relatedByCorrelation - 1;
  const from = (order: 'asc' | 'desc') =>
    readAuditRows(
      askIn(tx),
      place,
      { correlationId },
      { order, take: others, and: (put) => beyond(placeIn(row), put, order) },
    );
  const [before, after] = [await from('desc'), await from('asc')];
  const shown = before.slice(0, Math.max(Math.floor(others / 2), others - after.length));
  return [...shown.reverse(), row, ...after.slice(0, others - shown.length)];
}

async function actedBefore(tx: EntityManager, place: AuditPlace, row: AuditRow) {
  const { actorId, actorType } = row;
  if (actorId === null) return [];
  return readAuditRows(
    askIn(tx),
    place,
    { actorId },
    {
      order: 'desc',
      take: relatedByActor,
      and: (put) => {
        const until = `${put(placeIn(row).createdAt)}::timestamptz`;
        return [
          `actor_type = ${put(actorType)}`,
          `created_at > ${until} - interval '1 hour'`,
          `created_at <= ${until}`,
        ];
      },
    },
  );
}

/** The time occurs twice: the pair defines the order, and the time alone tells PostgreSQL which months to skip. */
const beyond = (place: CursorPlace, put: Bind, order: 'asc' | 'desc' = 'asc'): string[] => [
  `created_at ${order === 'asc' ? '>=' : '<='} ${put(place.createdAt)}::timestamptz`,
  afterCursor(place, byAge, order, put),
];
const byAge = ['created_at', 'id'];
