import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { HostedOptions } from '../options.js';
import { mfaChallenge } from './challenge.js';
import { mfaEmailOtpEnroll } from './email-otp/enroll.js';
import { mfaEmailOtpSend } from './email-otp/send.js';
import { mfaEmailOtpVerify } from './email-otp/verify.js';
import { mfaEnroll } from './enroll.js';
import { mfaEnrollCodes } from './recovery-codes.js';
import { mfaTotpEnroll } from './totp/enroll.js';
import { webauthn } from './webauthn/index.js';

/** The pages of the second factor: asking for one, and enrolling one. */
export const mfa: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  await app.register(mfaChallenge, options);
  await app.register(mfaEmailOtpSend, options);
  await app.register(mfaEmailOtpVerify, options);
  await app.register(mfaEnroll, options);
  await app.register(mfaTotpEnroll, options);
  await app.register(mfaEmailOtpEnroll, options);
  await app.register(mfaEnrollCodes, options);
  await app.register(webauthn, options);
};
