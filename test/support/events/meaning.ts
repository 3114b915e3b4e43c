import type { Row } from './picture.js';

/** A row of the audit log. */
export interface Told {
  id: string;
  action: string;
  resource_type: string;
  resource_id: string;
  environment_id: string | null;
  application_id: string | null;
  actor_type: string;
  actor_id: string | null;
  is_domain_event: boolean;
  metadata: Row & { changed?: string[] };
}

/** What an event says of one row of the picture. */
export interface Meaning {
  key: string;
  /** That it begins or ends; or fields that may be different now. */
  says: 'begins' | 'ends' | readonly string[];
  /** Whether each of the fields has to be different. */
  isExact: boolean;
}

/** The fields of a row that an event without `changed` is about. */
const concerned: Record<string, readonly string[]> = {
  'api_key.rotated': ['secret', 'key_preview'],
  'api_key.updated': ['is_active'],
  'identity.activated': ['is_active'],
  'identity.deactivated': ['is_active'],
  'identity.email_verified': ['email_verified'],
  'identity.mfa_enrolled': ['factors'],
  'identity.mfa_removed': ['factors'],
  'identity.mfa_reset': ['factors'],
  'identity.password_changed': ['password', 'sessions'],
  'identity.sessions_revoked': ['sessions'],
  'identity.signed_in': ['sessions'],
  'identity.signed_out': ['sessions'],
  'member.updated': ['roles'],
  'node_type_schema.updated': ['max_depth', 'node_types'],
  'oauth_client.secret_rotated': ['secret'],
  'scim_group_mapping.updated': ['role_id', 'node_id'],
  'sso_connection.activated': ['status', 'consecutive_failures', 'auto_disabled_at'],
  'sso_connection.disabled': ['status'],
};
const ofInvite = [
  'status',
  'ended_reason',
  'ended_at',
  'expires_at',
  'link_number',
  'identity_id',
  'membership_id',
  'limits',
];
const ofClaim = ['status', 'failure_reason', 'verified_at', 'ended_at', 'started_at', 'fails_at', 'token'];

/** What an event means for somebody who keeps a copy; null: nothing that a list shows. */
export function meaningOf({ action, resource_type, resource_id, environment_id, metadata }: Told): Meaning | null {
  const verb = action.slice(action.lastIndexOf('.') + 1);
  const is = (key: string, says: Meaning['says'], isExact = false): Meaning => ({ key, says, isExact });
  const key = `${resource_type} ${resource_id}`;
  if (action.startsWith('scim_user.')) return null; // of a directory, for the audit log alone
  if (resource_type === 'identity') {
    const inPlace = `${key} ${environment_id}`;
    if (environment_id === null) return null; // of the directory of the Account
    if (verb === 'created' || verb === 'deleted') return is(inPlace, verb === 'created' ? 'begins' : 'ends');
    return ofFields(inPlace, action, metadata);
  }
  if (verb === 'member_added' || verb === 'member_removed')
    return is(
      `organization_member ${resource_id} ${metadata.identity_id}`,
      verb === 'member_added' ? 'begins' : 'ends',
    );
  if (verb.startsWith('invitation_'))
    return is(`organization_invitation ${metadata.invitation_id}`, verb === 'invitation_created' ? 'begins' : ofInvite);
  if (verb === 'created' || verb === 'claimed' || action === 'member.added') return is(key, 'begins');
  if (resource_type.endsWith('_invite')) return is(key, ofInvite);
  if (['deleted', 'removed', 'revoked'].includes(verb)) return is(key, 'ends');
  if (resource_type === 'sso_domain') return is(key, ofClaim);
  return ofFields(key, action, metadata);
}

function ofFields(key: string, action: string, metadata: Told['metadata']): Meaning | null {
  const lists: Record<string, readonly [field: string, ...of: string[]]> = {
    'role.updated': ['permission_keys', 'added', 'removed'],
    'scim_group.updated': ['members', 'members_added', 'members_removed'],
  };
  const [field, ...of] = lists[action] ?? [];
  const isListed = of.some((name) => (Array.isArray(metadata[name]) ? metadata[name].length : metadata[name]));
  const changed = [...(metadata.changed ?? []), ...(field && isListed ? [field] : [])];
  if (metadata.changed || field) return { key, says: changed, isExact: true };
  const says = concerned[action];
  return says ? { key, says, isExact: false } : null;
}
