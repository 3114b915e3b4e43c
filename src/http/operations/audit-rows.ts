import { Readable } from 'node:stream';
import { type Static, type TSchema, Type } from 'typebox';
import type { AuditDetail } from '../../domain/audit/audit-log.js';
import type { AuditFilters } from '../../domain/audit/conditions.js';
import type { AuditRow } from '../../domain/audit/rows.js';
import { eventCategories, eventOutcomes, eventSeverities } from '../../domain/events/event-kind.js';
import { isUuid } from '../../platform/uuid.js';
import { listQuery } from '../surfaces/lists.js';
import { Answer } from '../surfaces/operation.js';
import { inBytes } from '../surfaces/proofs.js';
import { Growing, Id, instantOf, Metadata, Nullable, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';

/** The specification's audit row, with its filters and exports; the same for an Environment and an Account. */

const fields = {
  id: Id,
  account_id: Id,
  application_id: Nullable(Id),
  environment_id: Nullable(Id),
  actor_id: Nullable(Type.String()),
  actor_type: Growing(['platform_admin', 'identity', 'api_key', 'scim_token', 'system', 'anonymous']),
  actor_label: Nullable(
    Type.String({
      description:
        'The name that the API key had at the time, or the name that the person has now; null once the person is erased.',
    }),
  ),
  action: Type.String({ description: 'For example `node.updated`.' }),
  resource_type: Type.String(),
  resource_id: Nullable(Type.String()),
  resource_label: Nullable(Type.String({ description: 'Like `actor_label`; null for a resource without a name.' })),
  metadata: Metadata,
  outcome: OneOf(eventOutcomes),
  category: OneOf(eventCategories),
  severity: OneOf(eventSeverities),
  correlation_id: Nullable(
    Type.String({ format: 'uuid', description: 'The `X-Request-Id` of the request that caused it.' }),
  ),
  customer_visible: Type.Boolean(),
  identity_visible: Type.Boolean({
    description: 'Whether the row concerns end users, so that `/audit-log/identities` lists it.',
  }),
  created_at: Timestamp,
};
export const AuditRowView = Resource('AuditRow', fields);
export const AuditDetailView = single(
  Resource('AuditRowDetail', {
    ...fields,
    related_by_correlation: Type.Array(AuditRowView, {
      description:
        'Rows with the same `correlation_id`, including this one: oldest first, at most 50, those nearest to it.',
    }),
    related_by_actor: Type.Array(AuditRowView, {
      description:
        'Rows of the same actor in the hour that ends with this row, which is included: newest first, at most 10. Empty if ' +
        'there was no actor.',
    }),
  }),
);

export const presentRow = (row: AuditRow): Static<typeof AuditRowView> & { created_at: unknown } => ({
  id: row.id,
  account_id: row.accountId as string,
  application_id: row.applicationId,
  environment_id: row.environmentId,
  actor_id: row.actorId,
  actor_type: row.actorType,
  actor_label: row.actorLabel,
  action: row.action,
  resource_type: row.resourceType,
  resource_id: row.resourceId,
  resource_label: row.resourceLabel,
  metadata: row.metadata as Record<string, unknown>,
  outcome: row.outcome,
  category: row.category as (typeof eventCategories)[number],
  severity: row.severity as (typeof eventSeverities)[number],
  correlation_id: row.correlationId,
  customer_visible: row.customerVisible,
  identity_visible: row.identityVisible,
  created_at: row.createdAt.toISOString(),
});

export const presentDetail = ({ relatedByCorrelation, relatedByActor, ...row }: AuditDetail) => ({
  data: {
    ...presentRow(row),
    related_by_correlation: relatedByCorrelation.map(presentRow),
    related_by_actor: relatedByActor.map(presentRow),
  },
});

const q = 'The ID of an actor, a resource or a request; any other text is searched for in the names of actions.';
const filters = {
  q: Type.Optional(Type.String({ maxLength: 200, description: q })),
  action: Type.Optional(Type.String({ maxLength: 100 })),
  actor_id: Type.Optional(Type.String({ maxLength: 200 })),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(Type.String({ maxLength: 200 })),
  category: Type.Optional(OneOf(eventCategories)),
  outcome: Type.Optional(OneOf(eventOutcomes)),
  severity: Type.Optional(OneOf(eventSeverities)),
  // It names no resource: an unknown one gets an empty list, and no 404.
  correlation_id: Type.Optional(
    Type.String({ pattern: worded('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$', 'must be a UUID') }),
  ),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'From this time on (inclusive).' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Before this time (exclusive).' })),
};
export const AuditListQuery = listQuery(['created_at'], filters);
export const AuditExportQuery = Type.Object(
  { format: OneOf(['ndjson', 'csv'], { default: 'ndjson' }), ...filters },
  { additionalProperties: false },
);

/** A UUID is accepted in upper case, too, and written in lower case (RFC 9562 §4). Other ids stay as they are. */
const asWritten = (id: string) => (isUuid(id) ? id.toLowerCase() : id);

type Filters = Partial<Pick<Static<typeof AuditExportQuery>, keyof typeof filters>>;

/** @throws DomainError validation.failed */
export const filtersOf = (query: Filters): AuditFilters => ({
  q: query.q || undefined,
  action: query.action,
  actorId: query.actor_id && asWritten(query.actor_id),
  resourceType: query.resource_type,
  resourceId: query.resource_id && asWritten(query.resource_id),
  category: query.category,
  outcome: query.outcome,
  severity: query.severity,
  correlationId: query.correlation_id,
  from: query.from === undefined ? undefined : instantOf(query.from, 'query.from'),
  to: query.to === undefined ? undefined : instantOf(query.to, 'query.to'),
});

const contentTypes = { ndjson: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' };

/** Generated clients only know JSON and text; they pass on everything else as bytes. */
const File = Type.String({ format: 'binary' });
/** The 200 of an export: one row per line, in one of two formats. */
export const ExportAnswer = {
  description: 'One row per line, oldest first. CSV starts with a header line, and has `metadata` as JSON.',
  content: { 'application/x-ndjson': { schema: File }, 'text/csv': { schema: File } },
} as unknown as TSchema;

/** Answers with the rows as a stream, which reads them no faster than the caller does. */
export const exported = (format: keyof typeof contentTypes, batches: AsyncIterable<AuditRow[]>) =>
  new Answer(200, Readable.from(format === 'csv' ? csvLines(batches) : jsonLines(batches), inBytes), {
    'content-type': contentTypes[format],
    'content-disposition': `attachment; filename="audit-log.${format}"`,
  });

async function* jsonLines(batches: AsyncIterable<AuditRow[]>) {
  for await (const rows of batches) yield rows.map((row) => `${JSON.stringify(presentRow(row))}\n`).join('');
}

async function* csvLines(batches: AsyncIterable<AuditRow[]>) {
  const columns = Object.keys(fields) as (keyof typeof fields)[];
  yield `${columns.join(',')}\r\n`;
  for await (const rows of batches) {
    const lines = rows.map(presentRow).map((row) => columns.map((column) => cell(row[column])).join(','));
    yield lines.map((line) => `${line}\r\n`).join('');
  }
}

/** Returns a value as RFC 4180 writes it; a text that a spreadsheet would run as a formula gets a `'` in front. */
function cell(value: unknown): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
