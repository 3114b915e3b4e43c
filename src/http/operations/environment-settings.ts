import { type Static, Type } from 'typebox';
import { accessModels, type EnvironmentSettings, factorKinds } from '../../../entities/environment-settings.js';
import { definedOnly } from '../defined-only.js';
import { errors, operation } from '../operation.js';
import { Email, Id, LogoUrl, Name, Nullable, OneOf, Resource, single, Timestamp } from '../schemas.js';
import { worded } from '../validation-words.js';
import { conflictAs } from '../version-conflict.js';

const Seconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum, description: 'Seconds.' });
const day = 86_400;

const BrandingFields = {
  name: Nullable(Name),
  logo_url: Nullable(LogoUrl),
  primary_color: Nullable(Type.String({ pattern: worded('^#[0-9a-fA-F]{6}$', 'must be a color as #1a2b3c') })),
  support_email: Nullable(Email),
};
const BrandingChanges = Type.Partial(Type.Object(BrandingFields), { additionalProperties: false });
const brandingIn = (branding: Static<typeof BrandingChanges>): Static<typeof BrandingChanges> =>
  branding.name ? { ...branding, name: branding.name.trim() } : branding;
const Fields = {
  access_model: OneOf(accessModels, {
    description:
      'Which nodes stand below the root: none (`flat`), organizations, or all that the node-type schema has (`hierarchy`). A model ' +
      'that lacks the type of a node that is there is refused, and the nodes are named.',
  }),
  password_login_enabled: Type.Boolean(),
  password_min_length: Type.Integer({ minimum: 8, maximum: 64 }),
  email_otp_login_enabled: Type.Boolean({ description: 'Sign-in with a code that is mailed.' }),
  passkey_login_enabled: Type.Boolean({ description: 'Passkeys as the first factor.' }),
  login_require_captcha: Type.Boolean(),
  allow_self_signup: Type.Boolean(),
  self_signup_require_captcha: Type.Boolean(),
  daily_self_signup_cap: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Sign-ups a day (UTC).' }),
  mfa_policy: OneOf(['off', 'optional', 'required']),
  mfa_grace_period_days: Type.Integer({
    minimum: 0,
    maximum: 365,
    description: 'Days to enroll a first factor where MFA is required; 0: before the first sign-in goes on.',
  }),
  mfa_allowed_factors: Type.Array(OneOf(factorKinds), { uniqueItems: true }),
  mfa_trusted_device_days: Type.Integer({ minimum: 0, maximum: 365, description: '0: no device is trusted.' }),
  totp_drift_steps: Type.Integer({
    minimum: 0,
    maximum: 1,
    description:
      'How many time steps of 30 seconds before and after the present one codes of an authenticator app may belong to. With 0 ' +
      'clocks have to be right: telephones that are not fail already when the app is enrolled.',
  }),
  default_locale: OneOf(['en', 'de']),
  access_token_ttl_seconds: Seconds(60, day),
  refresh_token_ttl_seconds: Seconds(300, 365 * day),
  refresh_token_max_ttl_seconds: Seconds(300, 365 * day),
  session_ttl_seconds: Seconds(300, 90 * day),
  session_idle_ttl_seconds: Nullable(
    Type.Integer({
      minimum: 300,
      maximum: 90 * day,
      description:
        'Seconds after which a session of the hosted pages ends that nobody has used, a minute less at most; null: when its ' +
        '`session_ttl_seconds` are over. What applications hold goes by `refresh_token_ttl_seconds`.',
    }),
  ),
  require_pkce: Type.Boolean({
    description:
      'True: every OAuth client needs PKCE. Those with `require_pkce` false stay and need it too, a second after the change at the ' +
      'latest, and none can be registered so; once this is false again each goes by its own.',
  }),
  session_end_require_recent_sign_in: Type.Boolean({
    description:
      'Whether people end other sessions of theirs, and what applications were given, by a sign-in of the last ten minutes ' +
      'alone, with a second factor where they have one that the environment takes. Signing out never needs one.',
  }),
  sso_require_confirmation: Type.Boolean({
    description:
      'Whether somebody who is signed in is asked before an application is told: to go on with one press, or to use another ' +
      'account. `prompt=none` is then answered `interaction_required`.',
  }),
  default_sso_connection_id: Nullable(
    Type.String({
      format: 'uuid',
      description:
        "The active connection of the environment's own to which everybody is sent who signs in; null: they are asked. Is taken " +
        'away when the connection is disabled or deleted.',
    }),
  ),
  allowed_origins: Type.Array(
    Type.String({
      pattern: worded(
        '^https?://[^/?#*\\s]+$',
        'must be an origin as https://app.example.com, without a path or wildcard',
      ),
      maxLength: 300,
    }),
    {
      maxItems: 50,
      uniqueItems: true,
      description:
        'Origins of pages whose scripts may call the token endpoint, end-user authentication and, with an end user’s token, the Public ' +
        'API; for public clients those of their redirect URIs may as well.',
    },
  ),
};
const SettingsView = Resource('EnvironmentSettings', {
  environment_id: Id,
  ...Fields,
  branding: Type.Object(BrandingFields),
  version: Type.Integer(),
  updated_at: Timestamp,
});
const Changes = Type.Partial(Type.Object({ ...Fields, branding: BrandingChanges }), { additionalProperties: false });

const present = (settings: EnvironmentSettings) => ({
  environment_id: settings.environmentId,
  access_model: settings.accessModel,
  password_login_enabled: settings.passwordLoginEnabled,
  password_min_length: settings.passwordMinLength,
  email_otp_login_enabled: settings.emailOtpLoginEnabled,
  passkey_login_enabled: settings.passkeyLoginEnabled,
  login_require_captcha: settings.loginRequireCaptcha,
  allow_self_signup: settings.allowSelfSignup,
  self_signup_require_captcha: settings.selfSignupRequireCaptcha,
  daily_self_signup_cap: settings.dailySelfSignupCap,
  mfa_policy: settings.mfaPolicy,
  mfa_grace_period_days: settings.mfaGracePeriodDays,
  mfa_allowed_factors: settings.mfaAllowedFactors,
  mfa_trusted_device_days: settings.mfaTrustedDeviceDays,
  totp_drift_steps: settings.totpDriftSteps,
  default_locale: settings.defaultLocale,
  access_token_ttl_seconds: settings.accessTokenTtlSeconds,
  refresh_token_ttl_seconds: settings.refreshTokenTtlSeconds,
  refresh_token_max_ttl_seconds: settings.refreshTokenMaxTtlSeconds,
  session_ttl_seconds: settings.sessionTtlSeconds,
  session_idle_ttl_seconds: settings.sessionIdleTtlSeconds,
  require_pkce: settings.requirePkce,
  session_end_require_recent_sign_in: settings.sessionEndRequireRecentSignIn,
  sso_require_confirmation: settings.ssoRequireConfirmation,
  default_sso_connection_id: settings.defaultSsoConnectionId,
  allowed_origins: settings.allowedOrigins,
  branding: settings.branding,
  version: settings.version,
  updated_at: settings.updatedAt,
});

export const getEnvironmentSettings = operation({
  id: 'getEnvironmentSettings',
  method: 'GET',
  path: '/settings',
  summary: 'Read the settings of an environment',
  tag: 'Environments',
  level: 'environment',
  capability: 'env_settings.view',
  answers: { 200: single(SettingsView) },
  handle: async ({ services, scope }) => ({ data: present(await services.environmentSettings.get(scope)) }),
});

export const updateEnvironmentSettings = operation({
  id: 'updateEnvironmentSettings',
  method: 'PATCH',
  path: '/settings',
  summary: 'Change the settings of an environment',
  tag: 'Environments',
  level: 'environment',
  capability: 'env_settings.manage',
  ifMatch: 'required',
  body: Changes,
  events: ['environment.settings_updated', 'auth.mfa_grace_moved', 'auth.mfa_grace_reset'],
  answers: {
    200: single(SettingsView),
    ...errors('validation.failed', 'sso_connection.not_found', 'if_match.required', 'if_match.invalid'),
  },
  async handle({ services, scope, version, body }) {
    const changes = definedOnly({
      accessModel: body.access_model,
      passwordLoginEnabled: body.password_login_enabled,
      passwordMinLength: body.password_min_length,
      emailOtpLoginEnabled: body.email_otp_login_enabled,
      passkeyLoginEnabled: body.passkey_login_enabled,
      loginRequireCaptcha: body.login_require_captcha,
      allowSelfSignup: body.allow_self_signup,
      selfSignupRequireCaptcha: body.self_signup_require_captcha,
      dailySelfSignupCap: body.daily_self_signup_cap,
      mfaPolicy: body.mfa_policy,
      mfaGracePeriodDays: body.mfa_grace_period_days,
      mfaAllowedFactors: body.mfa_allowed_factors,
      mfaTrustedDeviceDays: body.mfa_trusted_device_days,
      totpDriftSteps: body.totp_drift_steps,
      defaultLocale: body.default_locale,
      accessTokenTtlSeconds: body.access_token_ttl_seconds,
      refreshTokenTtlSeconds: body.refresh_token_ttl_seconds,
      refreshTokenMaxTtlSeconds: body.refresh_token_max_ttl_seconds,
      sessionTtlSeconds: body.session_ttl_seconds,
      sessionIdleTtlSeconds: body.session_idle_ttl_seconds,
      requirePkce: body.require_pkce,
      sessionEndRequireRecentSignIn: body.session_end_require_recent_sign_in,
      ssoRequireConfirmation: body.sso_require_confirmation,
      defaultSsoConnectionId: body.default_sso_connection_id,
      allowedOrigins: body.allowed_origins,
      branding: body.branding && brandingIn(body.branding),
    });
    const updated = await services.environmentSettings.update(scope, version, changes).catch(conflictAs(present));
    return { data: present(updated) };
  },
});
