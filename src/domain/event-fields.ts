import type { EventAction } from './event-catalogue.js';

/** What `data` of an event holds beside who, what and where: ids, names of fields and plain settings. */
export type Fields = Readonly<Record<string, string>>;

const changed = { changed: 'Names of the fields that changed.' };
const node = {
  node_type: 'Key of its type.',
  parent_node_id: 'The node above it.',
  version: 'Its version from now on.',
};
const moved = { from_parent_node_id: 'The node that was above it, where it was moved.' };
const assignment = {
  identity_id: 'Who holds it.',
  role_id: 'The role.',
  node_id: 'The node at which it is held.',
  effective_from: 'Begin of its window, or null.',
  effective_to: 'End of its window, or null.',
};
const window = { ...assignment, at: 'The moment that it is about.' };
const invite = { intent: '`activate` or `directory`.' };
const invitation = { invitation_id: 'The invitation.' };
const offered = { role_ids: 'The roles that are offered.', node_id: 'Where they will be held, or null.' };
const accepted = { identity_id: 'Who accepted.', role_ids: 'The roles that they were given.' };
const factor = { factor_id: 'The factor.', factor: 'Its kind: `totp`, `webauthn`, `recovery_code`, `email_otp`.' };
const method = { method: 'By what: `administrator`, `email_otp`, `own`, a link, and the like.' };

/** By type; those without are told by their resource alone. */
export const eventFields: Partial<Record<EventAction, Fields>> = {
  'account.updated': changed,
  'application.updated': changed,
  'application.deleted': { slug: 'The slug that it had.' },
  'environment.created': { type: '`development` or `production`.' },
  'environment.updated': changed,
  'environment.deleted': {
    slug: 'The slug that it had.',
    type: '`development` or `production`.',
    identities_deleted: 'How many identities were in no other environment.',
  },
  'environment.settings_updated': { ...changed, version: 'The version of the settings from now on.' },
  'member.added': {
    user_id: 'The person.',
    role_ids: 'Their administrator roles.',
    limits: 'Where those count, or null.',
  },
  'member.updated': { user_id: 'The person.', roles: 'Their administrator roles with their limits.' },
  'member.removed': { user_id: 'The person.' },
  'administrator_role.created': { capabilities: 'What it allows.' },
  'administrator_role.updated': { ...changed, capabilities: 'What it allows from now on, where that changed.' },
  'administrator_invite.created': { role_id: 'The role that is offered.', limits: 'Where it will count, or null.' },
  'administrator_invite.accepted': { membership_id: 'The membership.', user_id: 'The person.' },
  'role.created': { permission_keys: 'What it holds.' },
  'role.updated': {
    ...changed,
    is_active: 'Whether it counts, where fields changed.',
    added: 'Keys of permissions that it holds from now on, where those changed.',
    removed: 'Keys of permissions that it holds no longer.',
  },
  'permission.created': { key: 'Its key.' },
  'permission.updated': { key: 'Its key.', ...changed },
  'permission.deleted': { key: 'Its key.' },
  'resource_permissions.added': {
    resources: 'Names of the resources.',
    permissions_created: 'How many permissions are new.',
    roles_updated: 'How many roles hold more.',
  },
  'oauth_client.updated': changed,
  'api_key.created': { access_mode: '`full` or `scoped`.' },
  'api_key.updated': { is_active: 'Whether it works.' },
  'api_key.rotated': { overlap_seconds: 'For how long the old secret works on.' },
  'role_assignment.created': assignment,
  'role_assignment.deleted': assignment,
  'role_assignment.activated': window,
  'role_assignment.expiring': window,
  'role_assignment.expired': window,
  'node.created': node,
  'node.updated': { ...node, ...changed },
  'node.moved': { ...node, ...changed, ...moved },
  'node.deleted': { ...node, top_node_id: 'The node that was deleted with all below it.' },
  'organization.created': node,
  'organization.updated': { ...node, ...changed, ...moved },
  'organization.deleted': { ...node, top_node_id: 'The node that was deleted with all below it.' },
  'organization.invitation_created': { ...invitation, ...offered },
  'organization.invitation_accepted': { ...invitation, ...accepted },
  'organization.member_added': { identity_id: 'The member.', role_ids: 'The roles that they were given there.' },
  'organization.member_updated': {
    identity_id: 'The member.',
    role_ids: 'The roles that they hold there from now on.',
  },
  'organization.member_removed': { identity_id: 'Who was the member.' },
  'identity_invite.created': { ...invite, ...offered },
  'identity_invite.accepted': { ...invite, ...accepted },
  'identity_invite.expired': invite,
  'identity_invite.revoked': { ...invite, reason: 'Why, where an operator ended it.' },
  'identity.created': {
    joined: 'Whether it was in the directory of the account before.',
    signed_up: 'True where it signed up itself.',
  },
  'identity.updated': { fields: 'Names of the fields that changed.' },
  'identity.deleted': { erased: 'True where nothing of it is left in the account.' },
  'identity.email_verified': method,
  'identity.password_changed': { ...method, revoked_session_ids: 'Sessions that ended with it.' },
  'identity.locked': { locked_until: 'When it can try again.' },
  'identity.signed_in': { amr: 'How (RFC 8176).', session_id: 'The session.' },
  'identity.sessions_revoked': { reason: 'Why.', session_ids: 'Which, where only some.' },
  'identity.mfa_enrolled': factor,
  'identity.mfa_removed': factor,
  'webhook.created': { event_types: 'What it is told: types, or `*`.', is_active: 'Whether it is told anything.' },
  'webhook.updated': { ...changed, is_active: 'Whether it is told anything from now on.' },
  'webhook.disabled': { reason: '`gone`: its receiver answered 410. `failing`: nothing but failures for days.' },
};
