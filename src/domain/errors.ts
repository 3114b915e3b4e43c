import type { LimitPolicy } from '../platform/limiter.js';

/** Every refusal that callers can act on: stable code and English text. The HTTP layer maps codes to statuses. */
const messages = {
  'auth.multiple_credentials': 'Send either an Authorization header or X-API-Key, not both',
  'auth.invalid_credentials': 'The credentials are not valid',
  'auth.reauthentication_required':
    'Sign in again first; this requires a sign-in within the last ten minutes, with a second factor if you have one',
  'account.capability_required': 'Your roles in this account lack the capability that this operation requires',
  'account.confirmation_required': 'To close the account, repeat its slug in the query parameter `confirm`',
  'account.has_applications': 'Delete the applications of the account first',
  'account.not_found': 'No such account',
  'account.owner_required': 'Only an Owner of the account may change this',
  'account.other_sign_in_required':
    'This session was started through the identity provider of another account; sign in another way to open this one',
  'account.password_required':
    'Set a password first, with the link that we have emailed to you; the names that you entered are kept until then',
  'account.slug_taken': 'Another account has this slug',
  'account.sso_required':
    'The account requires a sign-in through its own identity provider; sign in with single sign-on to open it',
  'account.sso_unavailable': 'Activate an SSO connection for the administrators of the account first',
  'account.limit_reached': 'The limit of accounts of one administrator is reached; leave or close one first',
  'account_intent.not_failed': 'Only an account creation that has failed can be retried',
  'account_intent.not_found': 'No account is waiting to be created',
  'admin_sso.not_available': 'No identity provider is available for administrators with this email address',
  'administrator_invite.already_pending': 'An invite to this email address is already pending',
  'administrator_invite.not_found': 'No such invite in this account',
  'administrator_invite.not_pending': 'The invite is no longer pending',
  'administrator_invite.role_deleted': 'The role of the invite was deleted; invite the person again',
  'administrator_role.built_in': 'Built-in roles cannot be changed or deleted',
  'administrator_role.cannot_grant': 'You can only grant rights that you hold yourself',
  'administrator_role.in_use': 'A member holds this role, or an invite offers it; change that first',
  'administrator_role.name_taken': 'Another role of the account has this name',
  'administrator_role.not_found': 'No such administrator role in this account',
  'api_key.cannot_grant': 'You can only grant a key rights that you hold yourself',
  'api_key.expired': 'The API key has expired, so its secret cannot be rotated; create another key',
  'api_key.not_found': 'No such API key in this environment',
  'api_key.scope_required': 'The API key lacks the scope that this operation requires',
  'application.confirmation_required': 'To delete the application, repeat its slug in the query parameter `confirm`',
  'application.not_found': 'No such application',
  'application.slug_taken': 'Another application of the account has this slug',
  'application.limit_reached': 'The limit of applications is reached; delete one first',
  'audit.row_not_found': 'No such row in the audit log',
  'body.too_large': 'The request body is too large',
  'body.malformed': 'The request body is not valid JSON',
  'body.unsupported_encoding': 'Content-Encoding is not supported; send the body without it',
  'body.unsupported_media_type': 'Send the body as application/json',
  'captcha.failed': 'Solve the captcha and send its token',
  'changes.cursor_expired':
    'The events after this cursor are no longer kept; begin with the cursor `latest`, and then read everything again',
  'changes.cursor_invalid': 'This is not a cursor of the change feed of this environment',
  'email_change.address_taken': 'Somebody else now signs in with this address; the address was not changed',
  'email_change.code_invalid': 'The code is not correct, or has expired',
  'email_change.domain_managed':
    'The addresses of this domain are managed by the organization that owns it; the address was not changed',
  'email_change.link_invalid': 'This link is unknown, has expired or was used already, or its session has ended',
  'email_change.managed': 'This email address is managed by an organization; only the organization can change it',
  'email_change.not_found': 'No new address is waiting to be confirmed',
  'email_change.password_required':
    'This is not the browser that requested the new address; also send your current password',
  'email_change.unchanged': 'You already sign in with this address',
  'environment.confirmation_required': 'To delete the environment, repeat its slug in the query parameter `confirm`',
  'environment.not_found': 'No such environment',
  'environment.slug_taken': 'Another environment of the application has this slug',
  'environment.limit_reached': 'The limit of environments is reached; delete one first',
  'environment.unknown_slug': 'The application has no environment with this slug',
  'idempotency.key_invalid': 'An Idempotency-Key must have 1 to 255 visible ASCII characters',
  'idempotency.key_reused': 'This Idempotency-Key was already used for a different request',
  'idempotency.answer_lost':
    'An earlier request with this Idempotency-Key took effect, but its response was lost; check what it did before you ' +
    'use another key',
  'idempotency.in_progress': 'The first request with this Idempotency-Key is still in progress',
  'identity.email_taken': 'An identity with this email address already exists in the environment',
  'identity.email_unverified': 'Confirm your email address first',
  'identity.external_id_taken': 'Another identity has this external_id',
  'identity.link_invalid': 'This link is unknown, has expired or was used already',
  'identity.in_production': 'This identity is also in a production environment; change it from there',
  'identity.holds_more':
    'This identity has rights that you lack; only somebody who holds them can change how it signs in',
  'identity.not_found': 'No such identity in this environment',
  'identity_invite.already_member': 'This email address already belongs to a member, or to somebody in the directory',
  'identity_invite.not_found': 'No such invite in this environment',
  'identity_invite.not_pending': 'The invite is no longer pending',
  'identity_invite.already_pending': 'An invite to this email address is already pending',
  'identity_invite.role_deleted': 'A role of the invite, or its node, was deleted; invite the person again',
  'if_match.required': 'Send the version that you read in an If-Match header',
  'if_match.invalid': 'If-Match must be the version that you read, such as "7"',
  'invite.link_invalid': 'This link is unknown, has expired or was used already',
  'login.consent_required': 'This application requires consent; sign in on the hosted pages',
  'login.method_not_allowed': 'One of your organizations does not allow its members to sign in this way',
  'member.already_member': 'This email address already belongs to a member of the account',
  'member.in_other_accounts':
    'This person also administers other accounts, so only they themselves can change how they sign in',
  'member.last_owner': 'An account must keep at least one Owner',
  'member.not_found': 'No such member of this account',
  'member.owner_required': 'Only an Owner can add, change or remove an Owner',
  'mfa.already_enrolled': 'This factor is already enrolled',
  'mfa.challenge_invalid': 'This sign-in is unknown, has expired or is complete; start again',
  'mfa.challenge_locked': 'Too many wrong codes; try again later',
  'mfa.challenge_required': 'The account requires a second factor; sign in again with yours',
  'mfa.code_invalid': 'The code is not correct',
  'mfa.email_unavailable': 'No code can be emailed for this sign-in',
  'mfa.enrollment_expired': 'This enrollment is unknown, has expired or has ended; start again',
  'mfa.enrollment_required':
    'A second factor is required, and you have none: enroll one, or ask an administrator for more time if the deadline ' +
    'has passed',
  'mfa.factor_not_allowed': 'The environment does not allow this factor',
  'mfa.factor_not_found': 'No such factor',
  'mfa.last_factor': 'A second factor is required, and this is the last one; enroll another one first',
  'mfa.not_enrolled': 'Enroll a second factor first',
  'mfa.own_factors': 'Your own second factors cannot be changed here; change them where you sign in',
  'mfa.parameters_not_supported': 'The codes of this authenticator app are computed in a way that is not supported',
  'mfa.second_factor_only': 'This key works only as a second factor; sign in another way',
  'mfa.secret_out_of_bounds': 'The secret is outside the limits for imported secrets',
  'mfa.secret_unreadable': 'This secret cannot be imported; send it in Base32',
  'mfa.too_many_factors': 'There are too many factors already; remove one first',
  'mfa.trusted_device_not_found': 'No such trusted device',
  'oauth_client.has_no_secret': 'This client does not authenticate with a secret',
  'oauth_client.not_found': 'No such OAuth client in this environment',
  'oauth_client.without_logout_uri': 'The client was deleted, or has no backchannel_logout_uri any more',
  'organization.already_member': 'This identity is already a member of the organization',
  'organization.confirmation_required':
    'To delete all organizations of the environment, repeat its slug in the query parameter `confirm`',
  'organization.member_not_found': 'This identity is not a member of the organization',
  'organization.not_found': 'No such organization in this environment',
  'organization.production_environment': 'In a production environment, organizations can only be deleted one by one',
  'organization.slug_taken': 'Another node under the same parent has this slug',
  'organization.sso_connection_exists': 'The organization already has an SSO connection',
  'organization.sso_connection_not_owned': 'This SSO connection is managed by the developers of the application',
  'origin.foreign': 'Requests from other origins are not accepted here',
  'password.breached': 'This password has appeared in a data breach; choose another one',
  'password.context_specific':
    'This password is little more than a name or an address, of the person or of this service; choose another one',
  'password.hash_out_of_bounds': 'The hash is outside the limits for imported hashes',
  'password.hash_unreadable': 'This hash cannot be imported; send argon2, scrypt or PBKDF2 as a PHC string, or bcrypt',
  'password.link_invalid': 'This link is unknown, has expired or was used already',
  'password.too_short': 'The password is too short',
  'password.wrong': 'The current password is not correct',
  'nodes.node_not_found': 'No such node in this environment',
  'node_type_schema.breaks_nodes': 'Some existing nodes do not conform to the new schema',
  'nodes.has_children': 'There are nodes below this one; send `cascade=true` to delete them too',
  'nodes.not_in_access_model': "The environment's access model does not allow nodes of this type",
  'nodes.root_fixed': 'The root of the tree can be renamed, but not moved, deactivated or deleted',
  'nodes.slug_taken': 'Another node under the same parent has this slug',
  'nodes.too_deep': 'The tree would be deeper than the node-type schema allows',
  'nodes.tree_too_large': 'The tree is too large for one response; ask for a smaller depth',
  'nodes.type_not_allowed': 'The node-type schema does not allow a node of this type there',
  'nodes.type_unknown': 'The node-type schema has no such node type',
  'nodes.would_cycle': 'A node cannot be moved below itself',
  'permission.key_taken': 'Another permission of the environment has this key',
  'permission.not_found': 'No such permission in this environment',
  'permission.required': 'You lack the permission that this operation requires',
  'permission.system': 'System permissions cannot be changed or deleted',
  'principal.wrong_type':
    "This kind of token is not accepted here: administrators' tokens are for /v1/auth and /portal/v1, end users' for " +
    '/v1/identity/auth, /api/v1 and /access/v1, those of applications that ask for consent for /oauth/userinfo',
  'process.not_failed':
    'Only a process that has failed, or was cancelled before its end and has not been superseded since, can be retried',
  'process.not_found': 'No such process in this account',
  'process.not_running': 'The process has ended',
  'process.verb_not_supported': 'This kind of process does not support this action',
  'rate_limit.exceeded': 'Too many requests; try again later',
  'registration.link_invalid': 'This link is unknown, has expired or was used already',
  'registration.password_required':
    'This is not the browser that registered; also send the password that was chosen there',
  'request.headers_too_large': 'The URL and the headers of the request are too large',
  'request.malformed': 'This is not a valid HTTP request',
  'request.timed_out': 'The request did not arrive completely in time',
  'role.cannot_grant': 'You can only grant permissions that you hold yourself',
  'role.in_use':
    'Identities hold this role, or an SSO connection or a SCIM group mapping assigns it; remove it there first',
  'role.name_taken': 'Another role of the environment has this name',
  'role.not_found': 'No such role in this environment',
  'role.system': 'System roles cannot be changed or deleted',
  'role_assignments.not_found': 'No such role assignment in this environment',
  'role_assignments.overlapping': 'The identity already holds this role at this node, in an overlapping window',
  'role_assignments.window_empty': 'The window ends before it begins, or has already ended',
  'route.not_found': 'No such path',
  'route.method_not_allowed': 'This path does not support this method',
  'service.unavailable': 'The service is temporarily unavailable; try again soon',
  'scim_group_mapping.exists': 'This group is already mapped to this role at this node',
  'scim_group_mapping.not_found': 'No such SCIM group mapping in this account',
  'scim_token.not_found': 'No such SCIM token in this account',
  'session.not_found': 'No such session',
  'sign_up.daily_cap_reached': 'No more sign-ups are possible today; try again tomorrow',
  'sso_domain.limit_reached': 'The limit of domain claims is reached; delete one first',
  'sso_connection.incomplete': 'The connection cannot be used until its configuration is complete',
  'sso_connection.limit_reached': 'The limit of SSO connections is reached; delete one first',
  'sso_connection.required':
    'The account requires its administrators to sign in through this connection; an Owner can change that, or disable it',
  'sso_connection.metadata_unreadable': 'The metadata of the identity provider cannot be used',
  'sso_connection.not_active': 'The connection has never been active',
  'sso_connection.not_found': 'No such SSO connection',
  'sso_connection.test_not_found': 'No such test sign-in; results are kept for an hour',
  'sso_domain.malformed': 'This is not a domain; send one such as acme.com',
  'sso_domain.not_found': 'No such domain claim',
  'sso_domain.public_provider': 'Anybody can have an address at this provider, so its domain cannot be claimed',
  'sso_domain.public_suffix': 'Anybody can have a domain below this one, so it cannot be claimed',
  sso_required: 'One of your organizations requires its members to sign in through its identity provider',
  'validation.failed': 'The request is not valid',
  'version.conflict': 'The resource was changed in the meantime; read it again and repeat the request',
  'webhook.delivery_not_found': 'No such delivery to this webhook',
  'webhook.inactive': 'The webhook is inactive; activate it first',
  'webhook.limit_reached': 'The limit of webhooks is reached; delete one first',
  'webhook.not_found': 'No such webhook',
  'webhook.too_many_attempts': 'This delivery has had the maximum number of attempts',
} as const;

export type ErrorCode = keyof typeof messages;

export const errorCodes = Object.keys(messages) as ErrorCode[];

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(messages, code);

/** One thing that is wrong with a request; `field` is a JSON path like `redirect_uris[0]`. */
export interface ErrorDetail {
  field: string;
  code: string;
  message: string;
}

/** The most entries that `details` names if there are more. */
export const maxNamed = 20;

export interface DomainErrorOptions {
  details?: ErrorDetail[];
  /** The current resource, for a version conflict. */
  current?: unknown;
  /** Seconds until it is worth trying again. */
  retryAfter?: number;
  /** The limit that was exceeded, unless the answer names it already. */
  limit?: LimitPolicy;
  cause?: unknown;
}

/** A refusal by a rule of the domain, as opposed to a fault of ours. */
export class DomainError extends Error {
  constructor(
    readonly code: ErrorCode,
    readonly options: DomainErrorOptions = {},
  ) {
    super(messages[code], { cause: options.cause });
  }
}

/** Returns the validation refusal of one field. */
export const invalidField = (field: string, code: string, message: string): DomainError =>
  new DomainError('validation.failed', { details: [{ field, code, message }] });

/** The detail for a value that PostgreSQL cannot store as it was sent (`isStorable`), whoever detects it. */
export const unstorable: ErrorDetail = {
  field: '',
  code: 'unstorable',
  message: 'holds a character or a number that cannot be stored',
};

/** For `.catch`: null in place of a refusal with this code; rethrows every other error. */
export const nullIf =
  (code: ErrorCode) =>
  (error: unknown): null => {
    if (error instanceof DomainError && error.code === code) return null;
    throw error;
  };
