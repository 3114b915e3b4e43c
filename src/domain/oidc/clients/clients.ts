import type { EnvironmentType } from '../../../../entities/environment.js';
import type { Branding, EnvironmentSettings } from '../../../../entities/environment-settings.js';
import type { OAuthClient } from '../../../../entities/oauth-client.js';
import type { Clock } from '../../../platform/clock.js';
import type { Db } from '../../../platform/database/db.js';
import { createCredentialCache } from '../../cached-credentials.js';
import { environmentExists } from '../../existing-environment.js';

/** A client with its Environment's settings: all that a request needs before anybody is signed in. */
export interface Client extends Omit<OAuthClient, 'createdAt' | 'updatedAt'> {
  environmentType: EnvironmentType;
  /** The effective value: also true if the Environment requires PKCE of every client. */
  requirePkce: boolean;
  settings: Pick<
    EnvironmentSettings,
    | 'passwordLoginEnabled'
    | 'passwordMinLength'
    | 'emailOtpLoginEnabled'
    | 'passkeyLoginEnabled'
    | 'loginRequireCaptcha'
    | 'allowSelfSignup'
    | 'selfSignupRequireCaptcha'
    | 'dailySelfSignupCap'
    | 'mfaPolicy'
    | 'mfaGracePeriodDays'
    | 'mfaAllowedFactors'
    | 'mfaTrustedDeviceDays'
    | 'totpDriftSteps'
    | 'defaultLocale'
    | 'accessTokenTtlSeconds'
    | 'refreshTokenTtlSeconds'
    | 'refreshTokenMaxTtlSeconds'
    | 'sessionTtlSeconds'
    | 'sessionIdleTtlSeconds'
    | 'sessionEndRequireRecentSignIn'
    | 'ssoRequireConfirmation'
    | 'allowedOrigins'
  > & {
    branding: Branding;
    /** The active SSO connection to which everybody is sent. */
    defaultSsoConnectionId: string | null;
    /** Whether any end users sign in by a connection here. */
    hasSso: boolean;
  };
}

export interface Clients {
  /** From the cache: as it was a second ago at most. */
  find(clientId: string): Promise<Client | null>;
  /** As it is now; also refreshes the cache. */
  findAnew(clientId: string): Promise<Client | null>;
  /** Clears the cache because clients or their settings were changed. */
  forget(): void;
}

const findByClientId = {
  name: 'find_oauth_client',
  text: `
select c.id, c.account_id as "accountId", c.application_id as "applicationId", c.environment_id as "environmentId",
  c.client_id as "clientId", c.name, c.client_type as "clientType", c.redirect_uris as "redirectUris",
  c.post_logout_redirect_uris as "postLogoutRedirectUris", c.token_endpoint_auth_method as "tokenEndpointAuthMethod",
  c.secret_hash as "secretHash", c.previous_secret_hash as "previousSecretHash", c.previous_secret_expires_at as "previousSecretExpiresAt",
  c.require_pkce or s.require_pkce as "requirePkce", c.rotate_refresh_tokens as "rotateRefreshTokens",
  (select type from environments where id = c.environment_id) as "environmentType", c.scopes, c.consent_required as "consentRequired",
  c.jwks, c.jwks_uri as "jwksUri", c.logo_url as "logoUrl",
  c.initiate_login_uri as "initiateLoginUri",
  json_build_object('passwordLoginEnabled', s.password_login_enabled, 'passwordMinLength', s.password_min_length,
    'emailOtpLoginEnabled', s.email_otp_login_enabled, 'passkeyLoginEnabled', s.passkey_login_enabled,
    'loginRequireCaptcha', s.login_require_captcha, 'allowSelfSignup', s.allow_self_signup,
    'selfSignupRequireCaptcha', s.self_signup_require_captcha, 'dailySelfSignupCap', s.daily_self_signup_cap,
    'mfaPolicy', s.mfa_policy, 'mfaGracePeriodDays', s.mfa_grace_period_days, 'mfaAllowedFactors', s.mfa_allowed_factors,
    'mfaTrustedDeviceDays', s.mfa_trusted_device_days, 'totpDriftSteps', s.totp_drift_steps,
    'branding', s.branding, 'defaultLocale', s.default_locale,
    'accessTokenTtlSeconds', s.access_token_ttl_seconds, 'refreshTokenTtlSeconds', s.refresh_token_ttl_seconds,
    'refreshTokenMaxTtlSeconds', s.refresh_token_max_ttl_seconds, 'sessionTtlSeconds', s.session_ttl_seconds,
    'sessionIdleTtlSeconds', s.session_idle_ttl_seconds,
    'sessionEndRequireRecentSignIn', s.session_end_require_recent_sign_in,
    'ssoRequireConfirmation', s.sso_require_confirmation, 'allowedOrigins', s.allowed_origins,
    'defaultSsoConnectionId', (select id from sso_connections where id = s.default_sso_connection_id and status = 'active'),
    'hasSso', exists (select from sso_connections where environment_id = s.environment_id and status = 'active')) as settings
from oauth_clients c join environment_settings s on s.environment_id = c.environment_id
where c.client_id = $1 and ${environmentExists('c')}`,
};

export function createClients({ db, now }: { db: Db; now: Clock }): Clients {
  const clients = createCredentialCache(
    async (clientId) => (await db.statement<Client>(findByClientId, [clientId]))[0] ?? null,
    now,
  );
  // A text that cannot be an id is not worth a query, and PostgreSQL cannot store every text.
  const isPossible = (clientId: string) => /^[\x21-\x7e]{1,200}$/.test(clientId);

  return {
    find: async (clientId) => (isPossible(clientId) ? clients.find(clientId) : null),
    findAnew: async (clientId) => (isPossible(clientId) ? clients.findAnew(clientId) : null),
    forget: clients.clear,
  };
}
