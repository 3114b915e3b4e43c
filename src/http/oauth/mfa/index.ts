import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { registerEach } from '../../register-each.js';
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
  await registerEach(
    app,
    [
      mfaChallenge,
      mfaEmailOtpSend,
      mfaEmailOtpVerify,
      mfaEnroll,
      mfaTotpEnroll,
      mfaEmailOtpEnroll,
      mfaEnrollCodes,
      webauthn,
    ],
    options,
  );
};
