import type { EnvironmentSettings } from '../../../entities/environment-settings.js';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** The settings that a new Environment starts with (contract §2, §3). */
export const environmentDefaults = (): Omit<EnvironmentSettings, 'environmentId' | 'accountId' | 'updatedAt'> => ({
  version: 1,
  accessModel: 'hierarchy',
  passwordLoginEnabled: true,
  emailOtpLoginEnabled: false,
  passkeyLoginEnabled: true,
  loginRequireCaptcha: false,
  allowSelfSignup: false,
  selfSignupRequireCaptcha: false,
  dailySelfSignupCap: 500,
  allowEmailChange: false,
  mfaPolicy: 'optional',
  mfaGracePeriodDays: 7,
  mfaAllowedFactors: ['totp', 'webauthn', 'recovery_code', 'email_otp'],
  mfaTrustedDeviceDays: 30,
  totpDriftSteps: 1,
  passwordMinLength: 8,
  branding: { name: null, logo_url: null, primary_color: null, support_email: null },
  defaultLocale: 'en',
  accessTokenTtlSeconds: 15 * minute,
  refreshTokenTtlSeconds: 30 * day,
  refreshTokenMaxTtlSeconds: 90 * day,
  sessionTtlSeconds: 12 * hour,
  sessionIdleTtlSeconds: null,
  requirePkce: false,
  sessionEndRequireRecentSignIn: false,
  ssoRequireConfirmation: false,
  allowedOrigins: [],
  defaultSsoConnectionId: null,
});
