import type { onRequestAsyncHookHandler } from 'fastify';
import { hours, minutes } from '../../platform/clock.js';
import type { LimitPolicy } from '../../platform/limiter.js';
import type { RateLimits } from '../surfaces/rate-limits.js';

const per = (points: number, windowMs: number, name: string): LimitPolicy => ({
  name,
  points,
  windowSeconds: windowMs / 1000,
});

/** The specification's limits of the hosted login (spec, "Limits"), each per network address. */
export const throttles = {
  'POST /oauth/login/email-otp/start': per(5, minutes(15), 'email-otp-start'),
  'POST /oauth/login/email-otp/verify': per(10, minutes(10), 'email-otp-verify'),
  'POST /oauth/register': per(10, minutes(15), 'sign-up'),
  'POST /oauth/mfa-challenge': per(10, minutes(1), 'mfa-challenge'),
  'POST /oauth/mfa/email-otp/send': per(3, minutes(1), 'mfa-email-otp-send'),
  'POST /oauth/mfa/email-otp/verify': per(10, minutes(1), 'mfa-email-otp-verify'),
  'POST /oauth/mfa/webauthn/options': per(10, minutes(1), 'mfa-webauthn-options'),
  'POST /oauth/mfa/webauthn/verify': per(10, minutes(1), 'mfa-webauthn-verify'),
  'POST /oauth/mfa/webauthn/enroll/options': per(5, minutes(1), 'mfa-webauthn-enroll-options'),
  'POST /oauth/mfa/webauthn/enroll/verify': per(10, minutes(1), 'mfa-webauthn-enroll-verify'),
  // This one and those below are not in the specification: mails are also limited per address, and tries per link.
  'POST /oauth/verify-email': per(20, minutes(15), 'verify-email'),
  'POST /oauth/verify-email/resend': per(5, minutes(15), 'verify-email-resend'),
  'POST /oauth/sso/recovery': per(20, minutes(1), 'sso-recovery-ip'),
  'POST /oauth/invite': per(20, hours(1), 'identity-invite'),
  'POST /oauth/password/forgot': per(10, minutes(15), 'password-forgot'),
  'POST /oauth/password/reset': per(20, hours(1), 'password-reset'),
  // There is nothing to guess, and an office has one address. The options store nothing: the general limit suffices.
  'POST /oauth/login/passkey/verify': per(60, minutes(1), 'passkey-verify'),
  'POST /oauth/mfa/totp/enroll': per(10, minutes(1), 'mfa-totp-enroll'),
  'POST /oauth/mfa/email-otp/enroll/send': per(3, minutes(1), 'mfa-email-otp-enroll-send'),
  'POST /oauth/mfa/email-otp/enroll/verify': per(10, minutes(1), 'mfa-email-otp-enroll-verify'),
} as const satisfies Record<string, LimitPolicy>;

export type ThrottledRoute = keyof typeof throttles;

/**
 * The options of a route with a limit: `app.post(path, throttled(limits, 'POST /oauth/register'), …)`. It counts after
 * the body has been read and before any of it is used, so that a refusal can be a page in the requested language.
 */
export function throttled(
  limits: Pick<RateLimits, 'exact'>,
  route: ThrottledRoute,
): { preHandler: onRequestAsyncHookHandler } {
  return { preHandler: limits.exact(throttles[route]) };
}
