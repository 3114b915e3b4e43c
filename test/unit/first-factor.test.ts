import { expect, test } from '@jest/globals';
import { firstFactorOf } from '../../src/domain/first-factor-of.js';
import { barOf } from '../../src/domain/organizations/barred.js';
import type { SignInPolicy } from '../../src/domain/organizations/sign-in-policy.js';

test.each([
  [['pwd'], 'password'],
  [['pwd', 'otp', 'mfa'], 'password'],
  [['otp'], 'email_otp'],
  [['otp', 'hwk', 'mfa'], 'email_otp'],
  [['swk', 'user', 'mfa'], 'passkey'],
  [['swk', 'user', 'mfa', 'otp'], 'passkey'],
  [[], 'other'],
])('a session with amr %j began with %s, its first factor', (amr, method) => {
  expect(firstFactorOf(amr)).toBe(method);
});

test.each([
  ['passkey', null],
  ['email_otp', 'login.method_not_allowed'],
])('a session that began by a passkey, with an app added in it: where %s alone is allowed, %s', (only, code) => {
  const allows = { password: false, email_otp: false, passkey: false, sso: false, [only]: true };
  const policy: Omit<SignInPolicy, 'requireMfa' | 'belongs' | 'takesEnvironments'> = {
    allows,
    requireSso: false,
    ssoSatisfied: false,
    connections: [],
  };
  const settings = { passwordLoginEnabled: true, emailOtpLoginEnabled: true, passkeyLoginEnabled: true };
  const amr = ['swk', 'user', 'mfa', 'otp'];
  expect(barOf(policy, { method: 'session', amr }, settings)?.code ?? null).toBe(code);
});
