import type { EventAction } from './event-catalogue.js';

/** What `data` of an event, `metadata` of its audit row, holds beside who, what and where: ids, names of fields and plain settings. */
export type Fields = Readonly<Record<string, string>>;

const changed = { changed: 'Names of the fields that changed.' };
const became = 'What they are from now on, by name.';
const node = {
  node_type: 'Key of its type.',
  parent_node_id: 'The node above it.',
  status: '`active` or `inactive`, from now on.',
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
const why = { reason: 'Why, as a code.' };
const grace = { expires_at: 'Until when a first factor has to be enrolled.' };
const challenge = { factor: 'What was tried.', first_factor: 'What was proved before.' };
const regressed = {
  factor_id: 'The factor.',
  stored: 'The counter as it was known.',
  received: 'The counter that was sent.',
};
const process = { kind: 'The kind of process.', subject_id: 'What it is about.' };
const mail = { template: 'Which mail.', subject_id: 'What it is about.' };
const locked = { locked_until: 'When it can try again.' };
const revoked = { revoked_session_ids: 'Sessions that ended with it.' };
const method = { method: 'By what: `administrator`, `email_otp`, `own`, a link, and the like.' };
const domain = { domain: 'The domain.', organization_id: 'Whose claim it is; null: that of the account.' };
const directory = { organization_id: 'Whose directory it is; null: that of the environment.' };
const mapping = {
  ...directory,
  group_id: 'The group, where it is meant by its id; else null.',
  role_id: 'The role that its members hold.',
  node_id: 'Where they hold it.',
};
const before = { previous_status: 'How the claim stood before.' };
const connection = {
  type: '`saml` or `oidc`.',
  scope: 'Who signs in by it: `admin`, `identity` or `organization`.',
  organization_id: 'Whose connection it is, or null.',
};
const connectionBefore = { ...connection, previous_status: 'How it stood before.' };

/** By type; those without are told by their resource alone. */
export const eventFields: Partial<Record<EventAction, Fields>> = {
  'account.updated': changed,
  'application.updated': changed,
  'account.closed': { slug: 'The slug that it had.' },
  'application.deleted': { slug: 'The slug that it had.' },
  'environment.created': { type: '`development` or `production`.' },
  'environment.updated': changed,
  'environment.deleted': {
    slug: 'The slug that it had.',
    type: '`development` or `production`.',
  },
  'environment.erased': { identities_deleted: 'How many identities were in no other environment, and went with it.' },
  'environment.removal_cancelled': { ...why, rest: 'How much of it is left, in numbers.' },
  'environment.settings_updated': { ...changed, became, version: 'The version of the settings from now on.' },
  'member.added': {
    user_id: 'The person.',
    role_ids: 'Their administrator roles.',
    limits: 'Where those count, or null.',
    invite_id: 'The invite that they came by.',
    connection_id: 'The SSO connection that brought them.',
  },
  'member.updated': { user_id: 'The person.', roles: 'Their administrator roles with their limits.' },
  'member.removed': { user_id: 'The person.' },
  'member.mfa_reset': { user_id: 'The person.', ...revoked },
  'administrator_role.created': { capabilities: 'What it allows.' },
  'administrator_role.updated': { ...changed, capabilities: 'What it allows from now on, where that changed.' },
  'administrator_invite.created': { role_id: 'The role that is offered.', limits: 'Where it will count, or null.' },
  'administrator_invite.accepted': { membership_id: 'The membership.', user_id: 'The person.' },
  'administrator_invite.revoked': { reason: 'Why, where an operator ended it.' },
  'role.created': { permission_keys: 'What it holds.', is_active: 'Whether it counts.' },
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
  'oauth_client.updated': { ...changed, became: `${became} Without \`jwks\`.` },
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
  'organization.updated': {
    ...node,
    ...changed,
    ...moved,
    authentication_policy:
      'How its members may sign in from now on, where that changed; nothing but `changed` is beside it.',
  },
  'organization.deleted': { ...node, top_node_id: 'The node that was deleted with all below it.' },
  'organization.invitation_created': { ...invitation, ...offered },
  'organization.invitation_accepted': { ...invitation, ...accepted },
  'organization.member_added': { identity_id: 'The member.', role_ids: 'The roles that they were given there.' },
  'organization.member_updated': {
    identity_id: 'The member.',
    added: 'Roles that they hold there from now on.',
    removed: 'Roles that they hold there no longer.',
  },
  'organization.member_removed': { identity_id: 'Who was the member.' },
  'identity_invite.created': { ...invite, ...offered },
  'identity_invite.accepted': { ...invite, ...accepted },
  'identity_invite.expired': invite,
  'identity_invite.revoked': { ...invite, reason: 'Why, where an operator ended it.' },
  'identity.created': {
    joined: 'Whether it was in the directory of the account before.',
    signed_up: 'True where it signed up itself.',
    invited: 'True where it came by an invite.',
    provisioned: 'True where an identity provider brought it.',
  },
  'identity.updated': changed,
  'identity.deleted': { erased: 'True where nothing of it is left in the account.' },
  'identity.email_verified': {
    ...method,
    password_set: 'Of a link that was mailed at sign-up: whether its password counts now.',
  },
  'identity.password_changed': { ...method, ...revoked },
  'identity.locked': locked,
  'identity.signed_in': { amr: 'How (RFC 8176).', session_id: 'The session.', connection_id: 'The SSO connection.' },
  'identity.signed_out': { session_id: 'The `sid` of the ID tokens that it gave.' },
  'identity.sessions_revoked': { reason: 'Why.', session_ids: 'Which, where only some; 500 in each event.' },
  'identity.consent_given': { oauth_client_id: 'The client that asked.', scopes: 'What was allowed this time.' },
  'identity.consent_withdrawn': { oauth_client_id: 'The client that had it.', scopes: 'What it was for.' },
  'identity.mfa_enrolled': factor,
  'identity.mfa_removed': factor,
  'identity.mfa_reset': { reason: 'Why, where the owner of the address came after whoever had enrolled them.' },
  'scim_group.created': { ...directory, members_added: 'How many people are in it.' },
  'scim_group.updated': {
    ...directory,
    changed: 'What else changed: `display_name`, `external_id`.',
    members_added: 'How many people came in.',
    members_removed: 'How many went out.',
  },
  'scim_group.deleted': directory,
  'scim_group_mapping.created': mapping,
  'scim_group_mapping.updated': mapping,
  'scim_group_mapping.deleted': mapping,
  'scim_token.created': directory,
  'scim_token.revoked': directory,
  'scim_user.linked': { ...directory, joined: 'Whether the identity was there before.' },
  'scim_user.updated': { ...directory, changed: 'Names of what only the directory tells, such as `external_id`.' },
  'scim_user.unlinked': directory,
  'sso.domain.claimed': domain,
  'sso.domain.verified': { ...domain, ...before },
  'sso.domain.failed': { ...domain, ...before, reason: 'Why.' },
  'sso.domain.lapsed': { ...domain, reason: 'How the latest look ended.' },
  'sso.domain.deleted': { ...domain, ...before },
  'sso_connection.created': connection,
  'sso_connection.updated': {
    ...connection,
    ...changed,
    links_forgotten: 'Links that ended with it: another provider names other people.',
  },
  'sso_connection.links_forgotten': { ...connection, links_forgotten: 'How many people the provider had named.' },
  'sso_connection.activated': connectionBefore,
  'sso_connection.disabled': connectionBefore,
  'sso_connection.auto_disabled': {
    ...connectionBefore,
    reason: 'Code of the last refusal.',
    consecutive_failures: 'How many answers were refused in a row.',
  },
  'sso_connection.certificate_expiring': {
    ...connection,
    not_after: "When the last of the provider's certificates ends.",
  },
  'sso_connection.deleted': connectionBefore,
  'sso_connection.test_started': { ...connection, test_id: 'The test.' },
  'sso_connection.tested': {
    ...connection,
    test_id: 'The test.',
    reason: 'Code of the refusal, where the answer was refused.',
  },
  'webhook.delivery_retried': {
    webhook_id: 'The subscription.',
    event_id: 'The event that it tells.',
    event_type: 'Its type.',
    status: 'How it stood before.',
  },
  'webhook.created': { event_types: 'What it is told: types, or `*`.', is_active: 'Whether it is told anything.' },
  'webhook.updated': { ...changed, is_active: 'Whether it is told anything from now on.' },
  'webhook.disabled': { reason: '`gone`: its receiver answered 410. `failing`: nothing but failures for days.' },
  'webhook.delivery_failed': {
    webhook_id: 'The subscription.',
    event_id: 'The event that was not delivered.',
    event_type: 'Its type.',
    attempts: 'How many there were.',
  },
  'role_assignment.window_cancelled': { ...assignment, ...why },
  'organization.invitation_resent': invitation,
  'organization.invitation_expired': invitation,
  'organization.invitation_revoked': { ...invitation, ...why },
  'organization.sso_recovery_codes_renewed': { generation: 'Counts the sets of codes.' },
  'organization.invitation_role_not_given': { ...invitation, ...offered },
  'node_type_schema.updated': {
    version: 'The version of the schema from now on.',
    max_depth: 'Levels below the root.',
    node_types: 'Keys of the types.',
  },
  'identity_invite.resent': invite,
  'identity_invite.role_not_given': { ...invite, ...offered },
  'identity.erasure_cancelled': { ...why, rest: 'How much of the person is left.' },
  'auth.registration_requested': { parked: '`pending_registration`, or `account_intent` of a known user.' },
  'auth.registration_expired': why,
  'auth.registration_discarded': why,
  'auth.registration_cancelled': why,
  'auth.account_intent_discarded': why,
  'auth.account_intent_expired': why,
  'auth.account_intent_cancelled': why,
  'auth.account_intent_failed': why,
  'auth.password_link_requested': { purpose: 'What the link is for.' },
  'auth.password_set': revoked,
  'auth.password_reset': revoked,
  'auth.password_changed': revoked,
  'auth.admin_signed_in': {
    amr: 'How (RFC 8176).',
    session_id: 'The session.',
    connection_id: 'The SSO connection.',
  },
  'auth.admin_sign_in_failed': {
    method: 'What was tried.',
    reason: 'Code of the refusal, where an identity provider was asked.',
    connection_id: 'The SSO connection.',
  },
  'auth.admin_locked': locked,
  'auth.admin_mfa_enrolled': factor,
  'auth.admin_mfa_removed': factor,
  'auth.admin_mfa_reset': revoked,
  'auth.admin_updated': changed,
  'auth.admin_mfa_renamed': factor,
  'auth.admin_mfa_challenge_passed': challenge,
  'auth.admin_mfa_challenge_failed': challenge,
  'auth.admin_recovery_code_used': challenge,
  'auth.admin_webauthn_counter_regressed': regressed,
  'auth.identity_sign_in_failed': {
    method: 'What was tried.',
    reason: 'Code of the refusal, where what was tried was right.',
    connection_id: 'The SSO connection.',
  },
  'auth.emailed_code_requested': { purpose: 'What the code is for.' },
  'auth.sign_up_refused': why,
  'auth.identity_signed_out': { reason: 'Why, where it was not asked for.' },
  'auth.mfa_renamed': factor,
  'auth.mfa_challenge_passed': challenge,
  'auth.mfa_challenge_failed': challenge,
  'auth.recovery_code_used': challenge,
  'auth.sso_recovery_code_used': { organization_id: 'Whose code it was.', connection_id: 'What it stood in for.' },
  'auth.trusted_devices_revoked': { device_ids: 'Which.' },
  'auth.mfa_grace_started': grace,
  'auth.mfa_grace_moved': grace,
  'auth.mfa_grace_enrolled': grace,
  'auth.mfa_grace_reset': { ...grace, reason: 'Why, where nobody asked for it.' },
  'auth.mfa_grace_expired': { ...grace, ...why },
  'auth.mfa_grace_cancelled': { ...grace, ...why },
  'auth.grant_revoked': { ...why, oauth_client_id: 'The client that it was given to.' },
  'auth.webauthn_counter_regressed': regressed,
  'audit.exported': {
    format: '`ndjson` or `csv`.',
    surface: 'What was exported.',
    filters: 'Names of the filters; not their values.',
  },
  'signing_key.created': { signs_from: 'When it begins to sign.' },
  'process.cancelled': { ...process, reason: 'In the words of who did it.' },
  'process.extended': { ...process, deadline: 'Its end from now on.' },
  'process.retried': process,
  'email.failed': { ...mail, reason: 'Why, with the reply code of the mail server.' },
  'email.sent_after_all': { ...mail, ended_as: 'What had become of it before.' },
};
