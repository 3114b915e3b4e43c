import { isUuid } from '../../platform/uuid.js';
import { isObject } from '../is-object.js';

/** The kinds of values that events' fields have. */
const kinds = {
  boolean: { schema: { type: 'boolean' }, holds: (value: unknown) => typeof value === 'boolean' },
  integer: { schema: { type: 'integer' }, holds: Number.isSafeInteger },
  text: { schema: { type: 'string' }, holds: (value: unknown) => typeof value === 'string' },
  id: { schema: { type: 'string', format: 'uuid' }, holds: isId },
  time: { schema: { type: 'string', format: 'date-time' }, holds: isTime },
  object: { schema: { type: 'object', additionalProperties: true }, holds: isObject },
  texts: {
    schema: { type: 'array', items: { type: 'string' } },
    holds: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  },
  ids: {
    schema: { type: 'array', items: { type: 'string', format: 'uuid' } },
    holds: (value: unknown) => Array.isArray(value) && value.every(isId),
  },
  objects: {
    schema: { type: 'array', items: { type: 'object', additionalProperties: true } },
    holds: (value: unknown) => Array.isArray(value) && value.every(isObject),
  },
} as const satisfies Record<string, { schema: object; holds(value: unknown): boolean }>;

export type FieldKind = keyof typeof kinds;
const namesOf = {
  boolean: ['erased', 'invited', 'is_active', 'joined', 'password_set', 'provisioned', 'signed_up'],
  integer: [
    'attempts',
    'consecutive_failures',
    'generation',
    'identities_deleted',
    'links_forgotten',
    'max_depth',
    'members_added',
    'members_removed',
    'overlap_seconds',
    'permissions_created',
    'received',
    'roles_updated',
    'stored',
    'version',
  ],
  id: [
    'connection_id',
    'email_change_id',
    'event_id',
    'factor_id',
    'group_id',
    'identity_id',
    'invitation_id',
    'invite_id',
    'membership_id',
    'node_id',
    'oauth_client_id',
    'organization_id',
    'parent_node_id',
    'from_parent_node_id',
    'role_id',
    'session_id',
    'subject_id',
    'test_id',
    'top_node_id',
    'user_id',
    'webhook_id',
  ],
  ids: ['device_ids', 'revoked_session_ids', 'role_ids', 'session_ids'],
  time: ['at', 'deadline', 'effective_from', 'effective_to', 'expires_at', 'locked_until', 'not_after', 'signs_from'],
  texts: [
    'added',
    'amr',
    'capabilities',
    'changed',
    'event_types',
    'filters',
    'node_types',
    'permission_keys',
    'removed',
    'resources',
    'scopes',
  ],
  object: ['authentication_policy', 'became', 'limits', 'rest'],
  objects: ['roles'],
  text: [],
} as const satisfies Record<FieldKind, readonly string[]>;

/** Fields in which null has a meaning, such as "no end". */
const nullable: ReadonlySet<string> = new Set([
  'deadline',
  'effective_from',
  'effective_to',
  'first_factor',
  'from_parent_node_id',
  'group_id',
  'limits',
  'node_id',
  'organization_id',
  'parent_node_id',
]);

/** The fields that are not text. */
export const kindsByName: ReadonlyMap<string, FieldKind> = new Map<string, FieldKind>(
  Object.entries(namesOf).flatMap(([kind, names]) => names.map((name) => [name, kind as FieldKind] as const)),
);

/** A field has the same kind in all events; one that is not named above is text. */
const kindOf = (name: string): FieldKind => kindsByName.get(name) ?? 'text';

/** Returns the kind as docs/events.md names it: `time or null`. */
export const kindInWords = (name: string): string => `${kindOf(name)}${nullable.has(name) ? ' or null' : ''}`;

/** Returns the field's schema for OpenAPI 3.0. */
export const schemaOfField = (name: string, description: string): object => ({
  ...kinds[kindOf(name)].schema,
  ...(nullable.has(name) && { nullable: true }),
  description,
});

/** Returns whether a value is of its field's kind; a missing value is. */
export const isOfItsKind = (name: string, value: unknown): boolean =>
  value === undefined || (value === null ? nullable.has(name) : kinds[kindOf(name)].holds(value));

function isId(value: unknown): boolean {
  return isUuid(value) && value === value.toLowerCase();
}

/** Accepts a `Date`, as rows are read, and a text, as they are written. */
function isTime(value: unknown): boolean {
  return value instanceof Date || (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value));
}
