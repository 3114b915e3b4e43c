import { expect, test } from '@jest/globals';
import type { FactorKind } from '../../entities/environment-settings.js';
import { cameByMail, choicesAfter, noMfaState } from '../../src/domain/mfa/state.js';

const first = { method: 'sso' as const, amr: [], ssoConnectionId: 'okta', requiresAal2: false };
const enrollable = (allowed: FactorKind[], isVerified: boolean) =>
  choicesAfter(first, { ...noMfaState, allowed, isVerified }).enrollable;

test('mailed codes are offered as a factor to a person with a confirmed address', () => {
  expect(enrollable(['totp', 'email_otp'], true)).toEqual(['totp', 'email_otp']);
});

test('and to anybody else only without another factor: no later sign-in would accept them', () => {
  expect(enrollable(['totp', 'email_otp'], false)).toEqual(['totp']);
  expect(enrollable(['email_otp'], false)).toEqual(['email_otp']);
});

test.each([
  [['otp'], true],
  [['otp', 'mfa'], true],
  [['otp', 'hwk', 'user', 'mfa'], true],
  [['pwd', 'otp', 'mfa'], false],
  [['swk', 'user', 'mfa', 'otp'], false],
])('a session with amr %j began with a mailed code: %s', (amr, isByMail) => {
  expect(cameByMail({ method: 'session', amr, ssoConnectionId: null })).toBe(isByMail);
  expect(cameByMail({ method: 'session', amr, ssoConnectionId: 'okta' })).toBe(false);
});
