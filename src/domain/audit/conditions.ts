import { isStorable } from '../../platform/database/storable.js';
import { uuid } from '../../platform/uuid.js';
import type { Reach } from '../capabilities/reach.js';
import { type Bind, bindInto } from '../lists/sql-parameters.js';

/** Which rows of the audit log a caller may see. */
export interface AuditPlace {
  accountId: string;
  environmentId?: string;
  /** `identities`: only rows about end users. */
  surface: 'all' | 'identities';
  /** The part of the Account that the caller's roles reach; null: all of it. A node includes the nodes below it. */
  reach: Reach;
}

/** `from` is inclusive, `to` exclusive. */
export interface AuditFilters {
  action?: string | undefined;
  actorId?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  category?: string | undefined;
  outcome?: string | undefined;
  severity?: string | undefined;
  correlationId?: string | undefined;
  /** A UUID matches the ids of actor, resource and request; any other text a part of the action's name. */
  q?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Returns a list for a statement's values, and `put`, which adds one and returns its parameter. */
export function parameters() {
  const values: unknown[] = [];
  return { values, put: bindInto(values) };
}

export interface Conditions {
  /** On columns that `event_counts` has too. */
  common: string[];
  /**
   * The `common` conditions as they are written for the rows themselves. An Environment's rows are found by its id
   * alone: a generic plan could expect its Account to be as small.
   */
  ofRows: string[];
  /** On columns that only the rows themselves have. */
  own: string[];
  /** Whether `own` has conditions for which an index finds few rows, and for which nothing is counted. */
  isSelective: boolean;
}

/** Returns the conditions that a row has to meet, apart from its time. */
export function conditionsOf(place: AuditPlace, filters: AuditFilters, put: Bind): Conditions {
  const { accountId, environmentId, surface, reach } = place;
  const common = [`account_id = ${put(accountId)}`];
  const own: string[] = [];
  if (environmentId !== undefined) common.push(`environment_id = ${put(environmentId)}`);
  if (surface === 'identities') common.push('identity_visible');
  if (reach) {
    const { application_ids, environment_ids, node_ids } = reach;
    const parts = [
      `application_id = any(${put(application_ids)}::uuid[])`,
      `environment_id = any(${put(environment_ids)}::uuid[])`,
    ];
    if (node_ids.length > 0) parts.push(ofNodes(put(accountId), put(node_ids)));
    (node_ids.length > 0 ? own : common).push(`(${parts.join(' or ')})`);
  }
  const { action, resourceType, category, outcome, severity, q } = filters;
  const equal = { action, resource_type: resourceType, category, outcome, severity };
  for (const [column, value] of Object.entries(equal))
    if (value !== undefined) common.push(`${column} = ${put(value)}`);

  const { actorId, resourceId, correlationId } = filters;
  if (actorId !== undefined) own.push(`actor_id = ${put(actorId)}`);
  if (resourceId !== undefined) own.push(`resource_id = ${put(resourceId)}`);
  if (correlationId !== undefined) own.push(`correlation_id = ${put(correlationId)}`);
  if (q && uuid.test(q)) {
    const id = put(q.toLowerCase());
    own.push(`(actor_id = ${id} or resource_id = ${id} or correlation_id = ${id}::text::uuid)`);
  } else if (q) common.push(`position(${put(q.toLowerCase())} in action) > 0`);
  const [ofAccount, ...others] = common;
  const ofRows = environmentId === undefined ? common : [`(${ofAccount}) is true`, ...others];
  return { common, ofRows, own: ['customer_visible', ...own], isSelective: own.length > 0 };
}

/** Rows about the nodes in these subtrees, and about the organizations that these nodes are. */
const ofNodes = (accountId: string, nodeIds: string) =>
  `resource_type in ('node', 'organization') and resource_id = any(array(
    select n.id::text from nodes n where n.account_id = ${accountId} and n.path && ${nodeIds}::uuid[]))`;

/**
 * Returns whether one generic plan suits all values: all rows of a place, or those with one of the values that days are
 * counted by, in the days that have any. Each combination has a text of its own, and connections keep all of them.
 * Values that PostgreSQL would refuse are excluded, since the error would cost the connection.
 */
export function isPlannedOnce(
  { reach }: AuditPlace,
  { actorId, resourceId, correlationId, q, from, to, ...counted }: AuditFilters,
): boolean {
  const others = [actorId, resourceId, correlationId, from, to].some((filter) => filter !== undefined);
  const values = Object.values(counted).filter((filter) => filter !== undefined);
  return reach === null && !others && !q && values.length <= 1 && isStorable(values);
}

/** Returns `from` and `to` as conditions on `created_at`. */
export function timesOf({ from, to }: Pick<AuditFilters, 'from' | 'to'>, put: Bind): string[] {
  return [
    ...(from ? [`created_at >= ${put(from)}::timestamptz`] : []),
    ...(to ? [`created_at < ${put(to)}::timestamptz`] : []),
  ];
}
