import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';

/** A way of signing in by which somebody proves who they are here, and to nobody else. */
export type LoginMethod = Exclude<FirstFactorMethod, 'session' | 'sso'>;

export type MethodSettings = Pick<
  EnvironmentSettings,
  'passwordLoginEnabled' | 'emailOtpLoginEnabled' | 'passkeyLoginEnabled'
>;

/** The ways that an Environment has switched on. */
export const methodsOf = (settings: MethodSettings): LoginMethod[] => [
  ...(settings.passwordLoginEnabled ? (['password'] as const) : []),
  ...(settings.emailOtpLoginEnabled ? (['email_otp'] as const) : []),
  ...(settings.passkeyLoginEnabled ? (['passkey'] as const) : []),
];
