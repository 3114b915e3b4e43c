import { type Static, type TSchema, Type } from 'typebox';
import { accessModels, type EnvironmentSettings, factorKinds } from '../../../entities/environment-settings.js';
import type { ChangeableSettings } from '../../domain/environments/settings.js';
import { inDeclaredOrder } from '../../domain/lists/declared-order.js';
import { camelCased, type SnakeCased, snakeCased } from '../../platform/database/naming.js';
import { errors, operation } from '../surfaces/operation.js';
import { Email, Id, LogoUrl, Name, Nullable, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';
import { conflictAs } from '../surfaces/version-conflict.js';

const Seconds = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
const day = 86_400;
const FactorKind = OneOf(factorKinds, { title: 'SecondFactorKind' });

const BrandingFields = {
  name: Nullable(Name),
  logo_url: Nullable(LogoUrl),
  primary_color: Nullable(Type.String({ pattern: worded('^#[0-9a-fA-F]{6}$', 'must be a color such as #1a2b3c') })),
  support_email: Nullable(Email),
};
const BrandingChanges = Type.Partial(Type.Object(BrandingFields), { additionalProperties: false });
const brandingIn = (branding: Static<typeof BrandingChanges>): Static<typeof BrandingChanges> =>
  branding.name ? { ...branding, name: branding.name.trim() } : branding;
/** How each setting is written; validation, both operations and the document follow from it. */
const Fields = {
  access_model: OneOf(accessModels, {
    description:
      'Which nodes may be below the root: none (`flat`), organizations, or all types of the node-type schema ' +
      '(`hierarchy`). A model that lacks the type of an existing node is refused, and the error names the nodes.',
  }),
  password_login_enabled: Type.Boolean({
    description: 'Sign-in with a password, and with it sign-up and reset of forgotten passwords.',
  }),
  password_min_length: Type.Integer({
    minimum: 8,
    maximum: 64,
    description: 'Characters. Existing passwords are not checked again.',
  }),
  email_otp_login_enabled: Type.Boolean({ description: 'Sign-in with a code sent by email.' }),
  passkey_login_enabled: Type.Boolean({ description: 'Passkeys as the first factor.' }),
  login_require_captcha: Type.Boolean({
    description:
      'Whether signing in with a password, or requesting a sign-in code, requires a solved captcha. Refused if the ' +
      'installation has no captcha service.',
  }),
  allow_self_signup: Type.Boolean({
    description:
      'Whether people can create an identity themselves: on the sign-up page, or, where `password_login_enabled` is false, ' +
      'with the first code that is sent to them.',
  }),
  self_signup_require_captcha: Type.Boolean({
    description: 'Whether sign-ups require a solved captcha. Refused if the installation has no captcha service.',
  }),
  daily_self_signup_cap: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Sign-ups per day (UTC); 0: none.',
  }),
  allow_email_change: Type.Boolean({
    description:
      'Whether people can change the email address that they sign in with, on the page of their own account and through ' +
      '`POST /v1/identity/auth/email`. Leave it off if another system decides which address a person has. A production ' +
      'environment that a person is in must allow it, too; people of a directory or an identity provider, and addresses of ' +
      'verified domains, are excluded.',
  }),
  mfa_policy: OneOf(['off', 'optional', 'required'], {
    description:
      '`off`: nobody is asked for a second factor, unless an organization of theirs or `acr_values` requires one. ' +
      '`optional`: whoever has enrolled one is asked for it. `required`: also, everybody must enroll one, within ' +
      '`mfa_grace_period_days`.',
  }),
  mfa_grace_period_days: Type.Integer({
    minimum: 0,
    maximum: 365,
    description:
      'Days within which a first factor must be enrolled if MFA is required; 0: before the first sign-in can continue.',
  }),
  mfa_allowed_factors: Type.Array(FactorKind, {
    uniqueItems: true,
    description:
      'Factors that people can enroll and use here. `totp` or `webauthn` must be among them if `mfa_policy` is `required` ' +
      'or an organization requires a second factor.',
  }),
  mfa_trusted_device_days: Type.Integer({
    minimum: 0,
    maximum: 365,
    description: 'Days for which a browser that was trusted skips the second factor; 0: never.',
  }),
  totp_drift_steps: Type.Integer({
    minimum: 0,
    maximum: 1,
    description:
      'By how many time steps of 30 seconds, before or after the current one, the code of an authenticator app may be off. ' +
      'With 0, the clock of the device must be exact: with one that is not, even enrolling the app fails.',
  }),
  default_locale: OneOf(['en', 'de'], {
    description:
      'Language of pages and emails for people whose request and browser ask for no language that is offered, and of ' +
      'notifications by email.',
  }),
  access_token_ttl_seconds: Seconds(
    60,
    day,
    'Seconds for which access and ID tokens are valid. Once its session has ended, an access token is refused by this ' +
      'service and inactive at introspection; whoever only verifies its signature accepts it until it expires.',
  ),
  refresh_token_ttl_seconds: Seconds(
    300,
    365 * day,
    'Seconds after which a refresh token that is not used expires. Each use prolongs this, up to ' +
      '`refresh_token_max_ttl_seconds`.',
  ),
  refresh_token_max_ttl_seconds: Seconds(
    300,
    365 * day,
    'Seconds from the sign-in to the end of its refresh tokens, however often they are used.',
  ),
  session_ttl_seconds: Seconds(
    300,
    90 * day,
    'Seconds for which a sign-in on the hosted pages signs the browser in to all clients of the environment. What clients ' +
      'were granted meanwhile goes on, as `refresh_token_max_ttl_seconds` says.',
  ),
  session_idle_ttl_seconds: Nullable(
    Type.Integer({
      minimum: 300,
      maximum: 90 * day,
      description:
        'Seconds without activity after which a session of the hosted pages ends; it may end up to a minute earlier. Null: ' +
        'it ends only after `session_ttl_seconds`. Tokens of applications follow `refresh_token_ttl_seconds`.',
    }),
  ),
  require_pkce: Type.Boolean({
    description:
      'If true, every OAuth client must use PKCE: within a second of the change also existing clients with `require_pkce` ' +
      "false, and no client can be registered with it. Once this is false again, each client's own setting applies.",
  }),
  session_end_require_recent_sign_in: Type.Boolean({
    description:
      'Whether people need to have signed in within the last ten minutes, with a second factor if they have one that the ' +
      'environment allows, to end their other sessions or the access of applications. Signing out never requires it.',
  }),
  sso_require_confirmation: Type.Boolean({
    description:
      'Whether a person who is already signed in is asked before an application learns who they are: continue with one ' +
      'click, or use another account. `prompt=none` is then answered with `interaction_required`.',
  }),
  default_sso_connection_id: Nullable(
    Type.String({
      format: 'uuid',
      description:
        "The environment's own active connection to which everybody is sent to sign in; null: people are asked how to sign " +
        'in. It is cleared when the connection is disabled or deleted.',
    }),
  ),
  allowed_origins: Type.Array(
    Type.String({
      pattern: worded(
        '^https?://[^/?#*\\s]+$',
        'must be an origin such as https://app.example.com, without a path or wildcard',
      ),
      maxLength: 300,
    }),
    {
      maxItems: 50,
      uniqueItems: true,
      description:
        "Origins of pages whose scripts may call the token endpoint, end-user authentication and, with an end user's token, " +
        'the Public API; for public clients, the origins of their redirect URIs are allowed too. Each is written exactly as ' +
        'browsers send it in `Origin`: in lower case, with A-labels, and without the default port.',
    },
  ),
} satisfies Record<keyof SnakeCased<Omit<ChangeableSettings, 'branding'>>, TSchema>;
const SettingsView = Resource('EnvironmentSettings', {
  environment_id: Id,
  ...Fields,
  branding: Type.Object(BrandingFields),
  version: Type.Integer(),
  updated_at: Timestamp,
});
const Changes = Type.Partial(Type.Object({ ...Fields, branding: BrandingChanges }), { additionalProperties: false });

const present = ({ accountId: _, ...settings }: EnvironmentSettings) =>
  snakeCased({ ...settings, mfaAllowedFactors: inDeclaredOrder(factorKinds, settings.mfaAllowedFactors) });

export const getEnvironmentSettings = operation({
  id: 'getEnvironmentSettings',
  method: 'GET',
  path: '/settings',
  summary: 'Get the settings of an environment',
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
  summary: 'Update the settings of an environment',
  description: 'Sign-ins and tokens follow a change within a second.',
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
    const changes = camelCased({ ...body, ...(body.branding && { branding: brandingIn(body.branding) }) });
    const updated = await services.environmentSettings.update(scope, version, changes).catch(conflictAs(present));
    return { data: present(updated) };
  },
});
