import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';

/** A sign-in method by which people prove who they are to this service, and not to an identity provider. */
export type LoginMethod = Exclude<FirstFactorMethod, 'session' | 'sso'>;

export type MethodSettings = Pick<
  EnvironmentSettings,
  'passwordLoginEnabled' | 'emailOtpLoginEnabled' | 'passkeyLoginEnabled'
>;

/** Returns the methods that an Environment has enabled. */
export const methodsOf = (settings: MethodSettings): LoginMethod[] => [
  ...(settings.passwordLoginEnabled ? (['password'] as const) : []),
  ...(settings.emailOtpLoginEnabled ? (['email_otp'] as const) : []),
  ...(settings.passkeyLoginEnabled ? (['passkey'] as const) : []),
];
