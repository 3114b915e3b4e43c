import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';
import { SsoConnection } from './sso-connection.js';

export interface Branding {
  name: string | null;
  logo_url: string | null;
  /** `#rrggbb` */
  primary_color: string | null;
  support_email: string | null;
}

/** Which nodes may be below the root: none, organizations, or what the node-type schema allows. */
export const accessModels = ['flat', 'organizations', 'hierarchy'] as const;
export type AccessModel = (typeof accessModels)[number];

export type MfaPolicy = 'off' | 'optional' | 'required';
export const factorKinds = ['totp', 'webauthn', 'recovery_code', 'email_otp'] as const;
export type FactorKind = (typeof factorKinds)[number];

@Entity('environment_settings')
@Index('environment_settings_default_sso_connection', ['defaultSsoConnectionId'])
@Check('environment_settings_mfa_policy', `mfa_policy in ('off', 'optional', 'required')`)
@Check(
  'environment_settings_mfa_factors',
  `mfa_allowed_factors <@ array['totp', 'webauthn', 'recovery_code', 'email_otp']`,
)
@Check('environment_settings_totp_drift', 'totp_drift_steps in (0, 1)')
@Check('environment_settings_access_model', `access_model in ('flat', 'organizations', 'hierarchy')`)
@Check('environment_settings_locale', `default_locale in ('en', 'de')`)
export class EnvironmentSettings {
  @ForeignKey(() => Environment, { name: 'environment_settings_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @ForeignKey(() => Account, { name: 'environment_settings_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('integer') version!: number;
  @Column('text', { default: 'hierarchy' }) accessModel!: AccessModel;
  @Column('boolean') passwordLoginEnabled!: boolean;
  @Column('boolean') emailOtpLoginEnabled!: boolean;
  /** Whether a passkey can be the first factor. */
  @Column('boolean') passkeyLoginEnabled!: boolean;
  @Column('boolean') loginRequireCaptcha!: boolean;
  @Column('boolean') allowSelfSignup!: boolean;
  @Column('boolean') selfSignupRequireCaptcha!: boolean;
  @Column('integer') dailySelfSignupCap!: number;
  /** Whether people change their own address. */
  @Column('boolean', { default: false }) allowEmailChange!: boolean;
  @Column('text') mfaPolicy!: MfaPolicy;
  /** 0: a factor must be enrolled before the first sign-in continues. */
  @Column('integer') mfaGracePeriodDays!: number;
  @Column('text', { array: true }) mfaAllowedFactors!: FactorKind[];
  /** 0: no device is trusted. */
  @Column('integer') mfaTrustedDeviceDays!: number;
  /** How many time steps before and after the current one a TOTP code may be from. */
  @Column('integer', { default: 1 }) totpDriftSteps!: number;
  @Column('integer') passwordMinLength!: number;
  @Column('jsonb') branding!: Branding;
  @Column('text') defaultLocale!: 'en' | 'de';
  @Column('integer') accessTokenTtlSeconds!: number;
  /** The lifetime of each refresh token, which starts again at each use. */
  @Column('integer') refreshTokenTtlSeconds!: number;
  /** The lifetime of a grant, however often it is refreshed. */
  @Column('integer') refreshTokenMaxTtlSeconds!: number;
  @Column('integer') sessionTtlSeconds!: number;
  /** How long a session may be unused; null: until it expires. */
  @Column('integer', { nullable: true }) sessionIdleTtlSeconds!: number | null;
  /** Whether every client needs PKCE, whatever its own `requirePkce` says. */
  @Column('boolean', { default: false }) requirePkce!: boolean;
  /** Whether people need a recent sign-in to end their other sessions, and the grants of applications. */
  @Column('boolean', { default: false }) sessionEndRequireRecentSignIn!: boolean;
  /** Whether an existing session signs in to an application only after the person has confirmed it. */
  @Column('boolean', { default: false }) ssoRequireConfirmation!: boolean;
  /** Origins whose scripts may call the token and userinfo endpoints. */
  @Column('text', { array: true }) allowedOrigins!: string[];
  /** The identity provider to which end users are redirected immediately, if any. */
  @ForeignKey(() => SsoConnection, {
    name: 'environment_settings_default_sso_connection_fk',
    onDelete: 'SET NULL',
  })
  @Column('uuid', { nullable: true })
  defaultSsoConnectionId!: string | null;
  @Column('timestamptz') updatedAt!: Date;
}
