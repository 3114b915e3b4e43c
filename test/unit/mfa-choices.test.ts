import { expect, test } from '@jest/globals';
import type { FactorKind } from '../../entities/environment-settings.js';
import { choicesAfter, noMfaState } from '../../src/domain/mfa/state.js';

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
