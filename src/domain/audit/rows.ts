import type { Event } from '../../../entities/event.js';
import { placedBy, type RowPlace } from '../lists/cursors.js';
import type { Ask } from '../lists/row-pages.js';
import type { Bind } from '../lists/sql-parameters.js';
import { type AuditFilters, type AuditPlace, conditionsOf, parameters } from './conditions.js';

/** An event as the audit log shows it. */
export type AuditRow = Omit<Event, 'transactionId' | 'isDomainEvent'> & RowPlace;

const columns = `id, account_id as "accountId", application_id as "applicationId", environment_id as "environmentId",
  actor_type as "actorType", actor_id as "actorId", actor_label as "actorLabel", action, resource_type as "resourceType",
  resource_id as "resourceId", resource_label as "resourceLabel", metadata, outcome, category, severity,
  correlation_id as "correlationId", customer_visible as "customerVisible", identity_visible as "identityVisible",
  created_at as "createdAt", ${placedBy('created_at', 'id')}`;

export interface RowsWanted {
  /** Returns further conditions; `put` adds a value and returns its parameter. */
  and?(put: Bind): string[];
  order: 'asc' | 'desc';
  skip?: number;
  take: number;
}

/** Reads rows in order of time. No other query reads the audit log's rows, so none leaves its place. */
export async function readAuditRows(
  ask: Ask,
  place: AuditPlace,
  filters: AuditFilters,
  { and = () => [], order, skip = 0, take }: RowsWanted,
): Promise<AuditRow[]> {
  const { values, put } = parameters();
  const { ofRows, own } = conditionsOf(place, filters, put);
  const conditions = [...ofRows, ...own, ...and(put)].join(' and ');
  return ask<AuditRow>(
    `select ${columns} from events where ${conditions} order by created_at ${order}, id ${order}
     offset ${put(skip)} limit ${put(take)}`,
    values,
  );
}

/** A UUIDv7 contains its time. The row was written near it, so PostgreSQL needs to look at that month only. */
export function nearId(id: string, put: Bind): string[] {
  if (id[14] !== '7') return [];
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  if (ms > latestMoment) return [];
  const near = (days: number) => `${put(new Date(ms + days * 86_400_000))}::timestamptz`;
  return [`created_at >= ${near(-1)}`, `created_at < ${near(1)}`];
}
const latestMoment = Date.UTC(9999, 0);
