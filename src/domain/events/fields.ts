import { authFields } from './auth-fields.js';
import type { EventAction } from './catalogue.js';
import { changed, type Fields, factor, locked, revoked, why } from './common-fields.js';

const became = 'The new values, by name.';
const node = {
  node_type: 'The key of its type.',
  parent_node_id: 'The parent node.',
  status: 'The new status, `active` or `inactive`.',
  version: 'The new version.',
};
const moved = { from_parent_node_id: 'The previous parent node, if it was moved.' };
const assignment = {
  identity_id: 'The identity that holds the role.',
  role_id: 'The role.',
  node_id: 'The node at which it is held.',
  effective_from: 'Start of its window, or null.',
  effective_to: 'End of its window, or null.',
};
const window = { ...assignment, at: 'The time that the event is about.' };
const invite = { intent: '`activate` or `directory`.' };
const invitation = { invitation_id: 'The invitation.' };
const offered = { role_ids: 'The roles that it offers.', node_id: 'The node at which they will be held, or null.' };
const accepted = { identity_id: 'The identity that accepted.', role_ids: 'The roles that were assigned.' };
const process = { kind: 'The kind of process.', subject_id: 'The ID of its subject.' };
const mail = { template: 'The template of the email.', subject_id: 'The ID of its subject.' };
const method = { method: 'How: `administrator`, `email_otp`, `own`, a link, and the like.' };
const domain = { domain: 'The domain.', organization_id: 'The organization that claims it; null: the account.' };
const directory = { organization_id: 'The organization that the directory belongs to; null: the environment.' };
const mapping = {
  ...directory,
  group_id: 'The group, if it is identified by its ID; otherwise null.',
  role_id: 'The role that its members hold.',
  node_id: 'The node at which they hold it.',
};
const overlap = { overlap_seconds: 'For how long the previous secret keeps working.' };
const before = { previous_status: 'The previous status of the claim.' };
const connection = {
  type: '`saml` or `oidc`.',
  scope: 'Who signs in through it: `admin`, `identity` or `organization`.',
  organization_id: 'The organization that the connection belongs to, or null.',
};
const connectionBefore = { ...connection, previous_status: 'The previous status.' };

const declared = {
  'account.updated': changed,
  'application.updated': changed,
  'account.owner_appointed': { user_id: 'The person.' },
  'account.closed': { slug: 'Its slug before.' },
  'application.deleted': { slug: 'Its slug before.' },
  'environment.created': { type: '`development` or `production`.' },
  'environment.updated': changed,
  'environment.deleted': { slug: 'Its slug before.', type: '`development` or `production`.' },
  'environment.erased': { identities_deleted: 'How many identities, in no other environment, were deleted with it.' },
  'environment.removal_cancelled': { ...why, rest: 'How much of it is left, in numbers.' },
  'environment.settings_updated': { ...changed, became, version: 'The new version of the settings.' },
  'member.added': {
    user_id: 'The person.',
    role_ids: 'Their administrator roles.',
    limits: 'Where those apply, or null.',
    invite_id: 'The invite that they accepted.',
    connection_id: 'The SSO connection through which they came.',
  },
  'member.updated': { user_id: 'The person.', roles: 'Their administrator roles, with their limits.' },
  'member.removed': { user_id: 'The person.' },
  'member.mfa_reset': { user_id: 'The person.', ...revoked },
  'administrator_role.created': { capabilities: 'The capabilities that it grants.' },
  'administrator_role.updated': { ...changed, capabilities: 'The capabilities that it grants now, if they changed.' },
  'administrator_invite.created': { role_id: 'The role that it offers.', limits: 'Where it will apply, or null.' },
  'administrator_invite.updated': { limits: 'Where its role will apply now; something that they named was deleted.' },
  'administrator_invite.accepted': { membership_id: 'The membership.', user_id: 'The person.' },
  'administrator_invite.revoked': { reason: 'The reason, if an operator ended it.' },
  'role.created': { permission_keys: 'The keys of its permissions.', is_active: 'Whether it is active.' },
  'role.updated': {
    ...changed,
    is_active: 'Whether it is active now, if fields changed.',
    added: 'Keys of the permissions that were added, if they changed.',
    removed: 'Keys of the permissions that were removed.',
  },
  'permission.created': { key: 'Its key.' },
  'permission.updated': { key: 'Its key.', ...changed },
  'permission.deleted': { key: 'Its key.' },
  'resource_permissions.added': {
    resources: 'Names of the resources.',
    permissions_created: 'The number of new permissions.',
    roles_updated: 'The number of roles that were given permissions.',
  },
  'oauth_client.logout_failed': {
    identity_id: 'The person.',
    session_id: 'The session that has ended.',
    attempts: 'The number of attempts.',
    reason: '`refused`: its last three answers were 400. `attempts_exhausted`: it never accepted the logout token.',
  },
  'oauth_client.secret_rotated': overlap,
  'oauth_client.updated': { ...changed, became: `${became} Without \`jwks\`.` },
  'api_key.created': { access_mode: '`full` or `scoped`.' },
  'api_key.updated': { is_active: 'Whether it is active now.' },
  'api_key.rotated': overlap,
  'role_assignment.created': assignment,
  'role_assignment.deleted': assignment,
  'role_assignment.activated': window,
  'role_assignment.expiring': window,
  'role_assignment.expired': window,
  'node.created': node,
  'node.updated': { ...node, ...changed },
  'node.moved': { ...node, ...changed, ...moved },
  'node.deleted': { ...node, top_node_id: 'The node that was deleted with everything below it.' },
  'organization.created': node,
  'organization.updated': {
    ...node,
    ...changed,
    ...moved,
    authentication_policy: 'The new authentication policy, if it changed; then only `changed` is sent with it.',
  },
  'organization.deleted': { ...node, top_node_id: 'The node that was deleted with everything below it.' },
  'organization.invitation_created': { ...invitation, ...offered },
  'organization.invitation_accepted': { ...invitation, ...accepted },
  'organization.invitation_resent': invitation,
  'organization.invitation_expired': invitation,
  'organization.invitation_revoked': { ...invitation, ...why },
  'organization.member_added': { identity_id: 'The member.', role_ids: 'The roles that were assigned there.' },
  'organization.member_updated': {
    identity_id: 'The member.',
    added: 'Roles that were added there.',
    removed: 'Roles that were removed there.',
  },
  'organization.member_removed': { identity_id: 'The former member.' },
  'node_type_schema.updated': {
    version: 'The new version of the schema.',
    max_depth: 'Levels below the root.',
    node_types: 'Keys of the types.',
  },
  'identity_invite.created': { ...invite, ...offered },
  'identity_invite.resent': invite,
  'identity_invite.accepted': { ...invite, ...accepted },
  'identity_invite.expired': invite,
  'identity_invite.revoked': { ...invite, ...why },
  'identity.created': {
    joined: 'Whether it was already in the directory of the account.',
    signed_up: 'True if it signed up itself.',
    invited: 'True if it was invited.',
    provisioned: 'True if an identity provider created it.',
  },
  'identity.updated': changed,
  'identity.deleted': { erased: 'True if nothing of it is left in the account.' },
  'identity.email_verified': {
    ...method,
    password_set:
      'For a link that was emailed at sign-up: whether the password chosen then is now that of the identity.',
  },
  'identity.password_changed': { ...method, ...revoked },
  'identity.locked': locked,
  'identity.signed_in': {
    amr: 'The authentication methods (RFC 8176).',
    session_id: 'The session.',
    connection_id: 'The SSO connection.',
  },
  'identity.signed_out': { session_id: 'The `sid` of the ID tokens issued in it.' },
  'identity.sessions_revoked': { reason: 'The reason.', session_ids: 'The sessions, if not all; 500 in each event.' },
  'identity.consent_given': { oauth_client_id: 'The client that asked.', scopes: 'The scopes consented to this time.' },
  'identity.consent_withdrawn': { oauth_client_id: 'The client that had the consent.', scopes: 'Its scopes.' },
  'identity.mfa_enrolled': factor,
  'identity.mfa_removed': factor,
  'identity.mfa_reset': { reason: 'Why, if the owner of the email address came after whoever had enrolled them.' },
  'scim_group.created': { ...directory, members_added: 'The number of its members.' },
  'scim_group.updated': {
    ...directory,
    changed: 'Other changes: `display_name`, `external_id`.',
    members_added: 'The number of members added.',
    members_removed: 'The number of members removed.',
  },
  'scim_group.deleted': directory,
  'scim_group_mapping.created': mapping,
  'scim_group_mapping.updated': mapping,
  'scim_group_mapping.deleted': mapping,
  'scim_token.created': directory,
  'scim_token.revoked': directory,
  'scim_user.linked': { ...directory, joined: 'Whether the identity existed before.' },
  'scim_user.updated': { ...directory, changed: 'Changed attributes of the directory, such as `external_id`.' },
  'scim_user.unlinked': directory,
  'sso.domain.claimed': domain,
  'sso.domain.verified': { ...domain, ...before },
  'sso.domain.failed': { ...domain, ...before, reason: 'The reason.' },
  'sso.domain.lapsed': { ...domain, reason: 'The result of the latest check.' },
  'sso.domain.deleted': { ...domain, ...before },
  'sso_connection.created': connection,
  'sso_connection.updated': {
    ...connection,
    ...changed,
    links_forgotten: 'Links deleted with it: another provider identifies people differently.',
  },
  'sso_connection.links_forgotten': { ...connection, links_forgotten: 'The number of deleted links.' },
  'sso_connection.activated': connectionBefore,
  'sso_connection.disabled': connectionBefore,
  'sso_connection.auto_disabled': {
    ...connectionBefore,
    reason: 'The code of the last refusal.',
    consecutive_failures: 'The number of responses refused in a row.',
  },
  'sso_connection.certificate_expiring': {
    ...connection,
    not_after: "When the last of the provider's certificates expires.",
  },
  'sso_connection.deleted': connectionBefore,
  'sso_connection.test_started': { ...connection, test_id: 'The test.' },
  'sso_connection.tested': {
    ...connection,
    test_id: 'The test.',
    reason: 'The code of the refusal, if the response was refused.',
  },
  'webhook.delivery_retried': {
    webhook_id: 'The webhook.',
    event_id: 'The event that it delivers.',
    event_type: 'Its type.',
    status: 'The previous status.',
  },
  'webhook.created': { event_types: 'The event types that it receives, or `*`.', is_active: 'Whether it is active.' },
  'webhook.updated': { ...changed, is_active: 'Whether it is active now.' },
  'webhook.disabled': { reason: '`gone`: its receiver answered 410. `failing`: only failures for days.' },
  'webhook.delivery_failed': {
    webhook_id: 'The webhook.',
    event_id: 'The event that was not delivered.',
    event_type: 'Its type.',
    attempts: 'The number of attempts.',
  },
  'role_assignment.window_cancelled': { ...assignment, ...why },
  'organization.sso_recovery_codes_renewed': { generation: 'The number of sets generated so far.' },
  'organization.invitation_role_not_given': { ...invitation, ...offered },
  'identity_invite.role_not_given': { ...invite, ...offered },
  'identity.erasure_cancelled': { ...why, rest: 'How much of the person is left.' },
  'audit.exported': {
    format: '`ndjson` or `csv`.',
    surface: 'The list that was exported.',
    filters: 'Names of the filters, without their values.',
  },
  'signing_key.created': { signs_from: 'When it starts to sign.' },
  'process.cancelled': {
    ...process,
    reason: 'As given by whoever cancelled it; `cancelled_by_operator` if that was in Temporal.',
  },
  'process.extended': { ...process, deadline: 'The new deadline.' },
  'process.retried': process,
  'email.failed': { ...mail, reason: 'The reason, with the reply code of the mail server.' },
  'email.sent_after_all': { ...mail, ended_as: 'Its outcome before.' },
  ...authFields,
} satisfies Partial<Record<EventAction, Fields>>;

/** By type; for a type without fields the resource says it all. */
export const eventFields: Partial<Record<EventAction, Fields>> = declared;

/** Every name of a field; `field-kinds.ts` has its kind. */
export type FieldName = { [A in keyof typeof declared]: keyof (typeof declared)[A] }[keyof typeof declared];
