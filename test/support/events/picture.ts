import type { TestApi } from '../api.js';
import { rowsOf } from '../rows.js';

/** Everything of an Account that its lists show, by `kind id`, field by field under the names of the APIs. */
export type Picture = Map<string, Row>;
export type Row = Record<string, unknown>;

/** What only says when something was done, how often a row was changed, or what other rows say, too. */
const unsaid = [
  'id',
  'account_id',
  'application_id',
  'created_at',
  'updated_at',
  'last_used_at',
  'secret_hash',
  'previous_secret_hash',
  'previous_secret_expires_at',
  'member_count',
  'pending_invite_count',
  'path',
  'token_hash',
  'token_key_id',
];

/** The row of a table, without what is unsaid and `more`, with what `and` adds. */
const row = (more: readonly string[] = [], and = `'{}'::jsonb`) =>
  `to_jsonb(t) - array['${[...unsaid, ...more].join(`','`)}'] || ${and}`;
const secret = `jsonb_build_object('secret', encode(t.secret_hash, 'hex'))`;
const among = (text: string) => `coalesce((select jsonb_agg(x order by x) from (${text}) of (x)), '[]')`;

/** By kind, which is the resource of its events: table, what a row shows, and its id if that is not `id`. */
const kinds: readonly [kind: string, from: string, row: string, id?: string][] = [
  ['account', 'accounts t where t.id = $1', row(['closed_at'])],
  ['application', 'applications t where t.account_id = $1', row()],
  ['environment', 'environments t where t.account_id = $1', row()],
  [
    'environment_settings',
    'environment_settings t where t.account_id = $1',
    row(['environment_id']),
    't.environment_id',
  ],
  [
    'member',
    'memberships t where t.account_id = $1',
    `jsonb_build_object('user_id', user_id, 'roles', ${among(
      `select jsonb_build_object('role_id', r.role_id, 'limits', r.limits) from membership_roles r where r.membership_id = t.id`,
    )})`,
  ],
  ['administrator_role', 'administrator_roles t where t.account_id = $1', row()],
  ['administrator_invite', 'administrator_invites t where t.account_id = $1', row()],
  ['node_type_schema', 'node_type_schemas t where t.account_id = $1', row(), 't.environment_id'],
  ['node', 'nodes t where t.account_id = $1', row()],
  [
    'organization',
    'nodes t join organizations o on o.id = t.id where t.account_id = $1',
    row([], `jsonb_build_object('authentication_policy', o.authentication_policy)`),
  ],
  [
    'organization_member',
    'organization_members t where t.account_id = $1',
    row(),
    `t.organization_id || ' ' || t.identity_id`,
  ],
  [
    'organization_invitation',
    `identity_invites t where t.account_id = $1 and intent = 'organization' and organization_id is not null`,
    row(),
  ],
  ['identity_invite', `identity_invites t where t.account_id = $1 and intent <> 'organization'`, row()],
  [
    'role',
    'roles t where t.account_id = $1',
    row(
      [],
      `jsonb_build_object('permission_keys', ${among(
        `select p.key from role_permissions h join permissions p on p.id = h.permission_id where h.role_id = t.id`,
      )})`,
    ),
  ],
  ['permission', 'permissions t where t.account_id = $1', row()],
  [
    'role_assignment',
    'role_assignments t where t.account_id = $1 and removed_at is null',
    row(['removed_at', 'notify_holder']),
  ],
  [
    'identity',
    'identities i join environment_memberships t on t.identity_id = i.id where t.account_id = $1',
    `to_jsonb(i) - array['${[...unsaid, 'email_verified_at', 'verified_by_word', 'password_hash', 'password_changed_at', 'recovery_codes_generation', 'mfa_admin_reset_at'].join(`','`)}']
      || jsonb_build_object('environment_id', t.environment_id, 'is_active', t.is_active, 'email_verified', i.email_verified_at is not null, 'password', md5(i.password_hash),
        'factors', ${among('select f.id::text from mfa_factors f where f.identity_id = i.id')},
        'sessions', ${among('select s.id::text from sessions s where s.identity_id = i.id and s.environment_id = t.environment_id and s.revoked_at is null')})`,
    `i.id || ' ' || t.environment_id`,
  ],
  ['oauth_client', 'oauth_clients t where t.account_id = $1', row([], secret)],
  ['api_key', 'api_keys t where t.account_id = $1', row([], secret)],
  ['webhook', 'webhooks t where t.account_id = $1', row(['previous_secret', 'previous_secret_until', 'failing_since'])],
  ['scim_token', 'scim_tokens t where t.account_id = $1', row()],
  [
    'scim_group',
    'scim_groups t where t.account_id = $1',
    row(
      ['version', 'members_at_most', 'display_name_key'],
      `jsonb_build_object('members', ${among(
        'select m.identity_id::text from scim_group_members m where m.group_id = t.id',
      )})`,
    ),
  ],
  ['scim_group_mapping', 'scim_group_mappings t where t.account_id = $1', row()],
  ['sso_domain', 'sso_domains t where t.account_id = $1', row(['next_check_at', 'last_checked_at'])],
  [
    'sso_connection',
    'sso_connections t where t.account_id = $1',
    row(['last_login_at', 'last_login_failure_at', 'saml_certificate_warned_at']),
  ],
];

const text = kinds
  .map(([kind, from, shown, id = 't.id']) => `select '${kind} ' || ${id} as key, ${shown} as row from ${from}`)
  .join('\nunion all ')
  .concat('\norder by key'); // so that a seed finds the same things again

/** Reads everything of an Account as it is now. */
export async function pictureOf(api: TestApi, accountId: string): Promise<Picture> {
  const rows = await rowsOf<{ key: string; row: Row }>(api, text, [accountId]);
  return new Map(rows.map((one) => [one.key, one.row]));
}

/** Returns the names of the fields that differ. */
export const differing = (before: Row, after: Row): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => name !== 'version' && JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => name.replace(/_sealed$/, ''))
    .sort();
