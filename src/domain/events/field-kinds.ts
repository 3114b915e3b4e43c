import { isUuid } from '../../platform/uuid.js';
import { isObject } from '../is-object.js';
import type { FieldName } from './fields.js';

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

type Kind = keyof typeof kinds;
/** As docs/events.md names it. In some fields null has a meaning, such as "no end". */
type FieldKind = Kind | `${Kind} or null`;

/** The kind of each field, which is the same in all events. */
const fieldKinds = {
  access_mode: 'text',
  added: 'texts',
  amr: 'texts',
  at: 'time',
  attempts: 'integer',
  authentication_policy: 'object',
  became: 'object',
  capabilities: 'texts',
  changed: 'texts',
  connection_id: 'id',
  consecutive_failures: 'integer',
  deadline: 'time or null',
  device_ids: 'ids',
  domain: 'text',
  effective_from: 'time or null',
  effective_to: 'time or null',
  email_change_id: 'id',
  ended_as: 'text',
  erased: 'boolean',
  event_id: 'id',
  event_type: 'text',
  event_types: 'texts',
  expires_at: 'time',
  factor: 'text',
  factor_id: 'id',
  filters: 'texts',
  first_factor: 'text or null',
  format: 'text',
  from_parent_node_id: 'id or null',
  generation: 'integer',
  group_id: 'id or null',
  identities_deleted: 'integer',
  identity_id: 'id',
  intent: 'text',
  invitation_id: 'id',
  invite_id: 'id',
  invited: 'boolean',
  is_active: 'boolean',
  joined: 'boolean',
  key: 'text',
  kind: 'text',
  limits: 'object or null',
  links_forgotten: 'integer',
  locked_until: 'time',
  max_depth: 'integer',
  members_added: 'integer',
  members_removed: 'integer',
  membership_id: 'id',
  method: 'text',
  node_id: 'id or null',
  node_type: 'text',
  node_types: 'texts',
  not_after: 'time',
  oauth_client_id: 'id',
  organization_id: 'id or null',
  overlap_seconds: 'integer',
  parent_node_id: 'id or null',
  parked: 'text',
  password_set: 'boolean',
  permission_keys: 'texts',
  permissions_created: 'integer',
  previous_status: 'text',
  provisioned: 'boolean',
  purpose: 'text',
  reason: 'text',
  received: 'integer',
  removed: 'texts',
  resources: 'texts',
  rest: 'object',
  revoked_session_ids: 'ids',
  role_id: 'id',
  role_ids: 'ids',
  roles: 'objects',
  roles_updated: 'integer',
  scope: 'text',
  scopes: 'texts',
  session_id: 'id',
  session_ids: 'ids',
  signed_up: 'boolean',
  signs_from: 'time',
  slug: 'text',
  status: 'text',
  stored: 'integer',
  subject_id: 'id',
  surface: 'text',
  template: 'text',
  test_id: 'id',
  top_node_id: 'id',
  type: 'text',
  user_id: 'id',
  version: 'integer',
  webhook_id: 'id',
} as const satisfies Record<FieldName, FieldKind>;

const kindOf = (name: string) => {
  const [kind, orNull] = kindInWords(name).split(' ') as [Kind, string?];
  return { ...kinds[kind], isNullable: orNull !== undefined };
};

/** Returns the kind as docs/events.md names it: `time or null`. */
export const kindInWords = (name: string): FieldKind => fieldKinds[name as FieldName] ?? 'text';

/** Returns the field's schema for OpenAPI 3.0. */
export function schemaOfField(name: string, description: string): object {
  const { schema, isNullable } = kindOf(name);
  return { ...schema, ...(isNullable && { nullable: true }), description };
}

/** Returns whether a value is of its field's kind; a missing value is. */
export function isOfItsKind(name: string, value: unknown): boolean {
  const { holds, isNullable } = kindOf(name);
  return value === undefined || (value === null ? isNullable : holds(value));
}

function isId(value: unknown): boolean {
  return isUuid(value) && value === value.toLowerCase();
}

/** Accepts a `Date`, as rows are read, and a text, as they are written. */
function isTime(value: unknown): boolean {
  return value instanceof Date || (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value));
}
