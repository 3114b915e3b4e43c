import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Actor, currentContext } from '../../platform/context.js';
import { afterCommit } from '../../platform/database/scoped-runner.js';
import { partsOf } from '../../platform/parts.js';
import { traceparent } from '../../platform/tracing/tracing.js';
import { type EventAction, eventCatalogue } from './catalogue.js';
import { assertDeclared } from './declarations.js';
import type { EventKind } from './event-kind.js';
import { measureEvent } from './metrics.js';

export interface EventDetails {
  accountId?: string | null;
  applicationId?: string | null;
  environmentId?: string | null;
  resourceId: string | null;
  /** The name of the resource, unless it is a person: it stays readable after the resource was deleted. */
  resourceLabel?: string | null;
  /** What changed, in ids, names of fields and plain settings. Never secrets or personal data. */
  metadata?: Record<string, unknown>;
  outcome?: 'success' | 'failure' | 'denied';
  /** The actor, if that is not the caller of the running request. */
  actor?: Actor;
}

/** SQL for columns that the statement computes instead of taking them from the row; `from` joins what they refer to. */
export interface FromStatement {
  resourceId?: string;
  actorId?: string;
  metadata?: string;
  from?: string;
}

/** The channel that announces new events; its payload is the Environment's id. */
export const changesChannel = 'gatehouse_changes';

// Notifies only if a reader waits: at commit, the notifications of all transactions queue for one lock.
const announced = `case when e.is_domain_event and exists (
    select from feed_readers r where r.environment_id = e.environment_id and r.until > clock_timestamp())
  then pg_notify('${changesChannel}', e.environment_id::text) is not null else e.is_domain_event end`;

// The Application decides who may see an Environment's events, and not every writer has its id at hand.
const application = `coalesce(e.application_id, (select application_id from environments where id = e.environment_id))`;

// The time of writing. An event that some webhook wants is queued on the way: most are wanted by none, and the queue's
// reader finds the webhooks (docs/decisions/0028). The sorting makes it one look into the primary key, whatever the
// planner believes of the table: it expects the first row of a large scope to be near, and would read all others first.
const written = `case when e.is_domain_event and e.customer_visible and (
    select true from webhook_routes
    where scope_id = any (array[e.environment_id, e.account_id]) and event_type = any (array[e.action, '*'])
    order by scope_id, event_type, webhook_id limit 1)
  then gatehouse_queue_webhooks(e.id) else clock_timestamp() end`;

/**
 * Returns the SQL that inserts an event, for hot paths that include it in a statement of their own.
 * @param row the parameter that holds `eventRow(…)`, as `$13`.
 */
export const eventInsert = (
  row: string,
  { resourceId = 'e.resource_id', actorId = 'e.actor_id', metadata = 'e.metadata', from = '' }: FromStatement = {},
): string => `
insert into events (id, transaction_id, written_in, account_id, application_id, environment_id, actor_type, actor_id, actor_label,
  action, resource_type, resource_id, resource_label, metadata, outcome, category, severity, correlation_id, is_domain_event,
  customer_visible, identity_visible, created_at, traceparent)
select e.id, gatehouse_event_place(), pg_current_xact_id()::text::bigint, e.account_id, ${application}, e.environment_id, e.actor_type,
  ${actorId}, e.actor_label,
  e.action, e.resource_type, ${resourceId}, e.resource_label, ${metadata}, e.outcome, e.category, e.severity, e.correlation_id, ${announced},
  e.customer_visible, e.identity_visible, ${written}, e.traceparent
from jsonb_populate_record(null::events, ${row}::jsonb) e${from}`;

/** Returns an event's row for `eventInsert`. A caller that inserts it by its own statement also counts it. */
export function eventRow(action: EventAction, details: EventDetails): string {
  const { correlationId, actor: caller, declaredEvents } = currentContext();
  const metadata = details.metadata ?? {};
  assertDeclared(action, metadata, declaredEvents);
  const actor = details.actor ?? caller;
  const entry: EventKind = eventCatalogue[action];
  const outcome = details.outcome ?? 'success';
  const trace = traceparent();
  return JSON.stringify({
    id: uuidv7(),
    account_id: details.accountId ?? null,
    application_id: details.applicationId ?? null,
    environment_id: details.environmentId ?? null,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_label: actor.label ?? null,
    action,
    resource_type: entry.resource,
    resource_id: details.resourceId,
    resource_label: details.resourceLabel ?? null,
    metadata,
    outcome,
    category: entry.category,
    severity: entry.severity ?? 'info',
    correlation_id: correlationId,
    ...(trace && { traceparent: trace }),
    is_domain_event: entry.domainEvent ?? true,
    customer_visible: details.accountId != null,
    identity_visible: entry.identityVisible ?? false,
  });
}

const insert = eventInsert('$1');

/**
 * Records an event, in the transaction of the change itself. The change feed, the webhooks and the audit log all read
 * this row (contract §7). Returns the event's id.
 */
export async function recordEvent(tx: EntityManager, action: EventAction, details: EventDetails): Promise<string> {
  const row = eventRow(action, details);
  await tx.query(insert, [row]);
  afterCommit(tx, () => measureEvent(action, details.metadata ?? {}));
  return JSON.parse(row).id;
}

/** Returns the SQL that inserts any number of events. @param rows the parameter that holds an array of `eventRow(…)` */
export const eventsInsert = (rows: string): string =>
  eventInsert(rows).replace('jsonb_populate_record(', 'jsonb_populate_recordset(');

const insertMany = eventsInsert('$1');

/** Events per statement: enough to make the round trips negligible, and only a few megabytes. */
const atOnce = 1000;

/** Records an event for any number of resources, in as few statements as possible and in the order given. */
export async function recordEvents(
  tx: EntityManager,
  action: EventAction,
  details: readonly EventDetails[],
): Promise<void> {
  if (details.length === 0) return;
  for (const part of partsOf(details, atOnce)) {
    const rows = part.map((each) => eventRow(action, each));
    await tx.query(insertMany, [`[${rows.join()}]`]);
  }
  measureWritten(tx, action, details);
}

/** Counts events that the caller's own statement has inserted, after the commit. */
export function measureWritten(
  tx: EntityManager,
  action: EventAction,
  details: readonly Pick<EventDetails, 'metadata'>[],
): void {
  afterCommit(tx, () => {
    for (const { metadata = {} } of details) measureEvent(action, metadata);
  });
}
