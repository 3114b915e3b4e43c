export interface EventKind {
  category: 'auth' | 'identity' | 'access' | 'structure' | 'configuration' | 'integration' | 'security';
  resource: string;
  severity?: 'info' | 'notice' | 'warning' | 'critical';
  /** False for what only the audit log tells. */
  domainEvent?: boolean;
  /** True for what is on the identity surface of the audit log. */
  identityVisible?: boolean;
}

const auth = (resource: string, more: Partial<EventKind> = {}): EventKind => ({
  category: 'auth',
  resource,
  domainEvent: false,
  ...more,
});
const configuration = (resource: string): EventKind => ({ category: 'configuration', resource });
const ofIdentity = (more: Partial<EventKind> = {}): EventKind => ({
  category: 'identity',
  resource: 'identity',
  identityVisible: true,
  ...more,
});

/** Every action that an event row can name. */
export const eventCatalogue = {
  'account.created': configuration('account'),
  'account.updated': configuration('account'),
  'application.created': configuration('application'),
  'application.updated': configuration('application'),
  'application.deleted': { ...configuration('application'), severity: 'warning' },
  'environment.created': configuration('environment'),
  'environment.updated': configuration('environment'),
  'environment.deleted': { ...configuration('environment'), severity: 'warning' },
  'environment.settings_updated': configuration('environment_settings'),
  'member.added': { category: 'access', resource: 'member' },
  'member.updated': { category: 'access', resource: 'member', severity: 'notice' },
  'member.removed': { category: 'access', resource: 'member', severity: 'notice' },
  'administrator_role.created': { category: 'access', resource: 'administrator_role' },
  'administrator_role.updated': { category: 'access', resource: 'administrator_role', severity: 'notice' },
  'administrator_role.deleted': { category: 'access', resource: 'administrator_role', severity: 'notice' },
  'administrator_invite.created': { category: 'access', resource: 'administrator_invite' },
  'administrator_invite.resent': { category: 'access', resource: 'administrator_invite' },
  'administrator_invite.accepted': { category: 'access', resource: 'administrator_invite' },
  'administrator_invite.expired': { category: 'access', resource: 'administrator_invite' },
  'administrator_invite.revoked': { category: 'access', resource: 'administrator_invite' },
  'oauth_client.created': configuration('oauth_client'),
  'oauth_client.updated': configuration('oauth_client'),
  'oauth_client.secret_rotated': configuration('oauth_client'),
  'oauth_client.deleted': configuration('oauth_client'),
  'api_key.created': configuration('api_key'),
  'api_key.updated': configuration('api_key'),
  'identity.created': ofIdentity(),
  'identity.deleted': ofIdentity({ severity: 'notice' }),
  'identity.erasure_requested': ofIdentity({ severity: 'notice', domainEvent: false }),
  'identity.erasure_cancelled': ofIdentity({ severity: 'warning', domainEvent: false }),
  'identity.signed_in': ofIdentity({ category: 'auth' }),
  'auth.registration_requested': auth('pending_registration'),
  'auth.registration_confirmed': auth('pending_registration'),
  'auth.registration_expired': auth('pending_registration'),
  'auth.registration_discarded': auth('pending_registration'),
  'auth.registration_cancelled': auth('pending_registration', { severity: 'notice' }),
  'auth.account_intent_parked': auth('account_intent'),
  'auth.account_intent_consumed': auth('account_intent'),
  'auth.account_intent_discarded': auth('account_intent'),
  'auth.account_intent_expired': auth('account_intent'),
  'auth.account_intent_cancelled': auth('account_intent', { severity: 'notice' }),
  'auth.account_intent_failed': auth('account_intent', { severity: 'warning' }),
  'auth.account_intent_retried': auth('account_intent', { severity: 'notice' }),
  'auth.password_link_requested': auth('password_link'),
  'auth.password_set': auth('user', { severity: 'notice' }),
  'auth.password_reset': auth('user', { severity: 'notice' }),
  'auth.password_changed': auth('user', { severity: 'notice' }),
  'auth.password_change_failed': auth('user', { severity: 'notice' }),
  'auth.admin_signed_in': auth('user'),
  'auth.admin_sign_in_failed': auth('user', { severity: 'notice' }),
  'auth.admin_signed_out': auth('user_session'),
  'auth.admin_session_revoked': auth('user_session', { severity: 'notice' }),
  'auth.identity_sign_in_failed': auth('identity', { severity: 'notice', identityVisible: true }),
  'auth.identity_signed_out': auth('session', { identityVisible: true }),
  'auth.mfa_grace_started': auth('identity', { identityVisible: true }),
  'auth.mfa_grace_moved': auth('identity', { identityVisible: true }),
  'auth.mfa_grace_enrolled': auth('identity', { identityVisible: true }),
  'auth.mfa_grace_reset': auth('identity', { identityVisible: true }),
  'auth.mfa_grace_expired': auth('identity', { severity: 'notice', identityVisible: true }),
  'auth.mfa_grace_cancelled': auth('identity', { severity: 'notice' }),
  'auth.grant_revoked': auth('grant', { identityVisible: true }),
  'auth.access_denied': { category: 'security', resource: 'operation', severity: 'warning', domainEvent: false },
  'session.refresh_reuse_detected': {
    category: 'security',
    resource: 'session',
    severity: 'critical',
    domainEvent: false,
    identityVisible: true,
  },
  'session.code_reuse_detected': {
    category: 'security',
    resource: 'session',
    severity: 'critical',
    domainEvent: false,
    identityVisible: true,
  },
  'signing_key.created': { category: 'security', resource: 'signing_key', domainEvent: false },
  // An administrator's own words are in `reason` of the first one: audit rows only, nothing that is delivered elsewhere.
  'process.cancelled': { category: 'integration', resource: 'process', severity: 'notice', domainEvent: false },
  'process.extended': { category: 'integration', resource: 'process', severity: 'notice', domainEvent: false },
  'process.retried': { category: 'integration', resource: 'process', severity: 'notice', domainEvent: false },
  'email.failed': { category: 'integration', resource: 'email', severity: 'warning', domainEvent: false },
} as const satisfies Record<string, EventKind>;

export type EventAction = keyof typeof eventCatalogue;
