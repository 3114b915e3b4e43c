import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import type { TextKey } from '../../../../platform/mail/texts.js';
import type { HostedOptions } from '../../options.js';
import { throttled } from '../../throttles.js';
import { sendChallenge } from '../challenge-page.js';
import { createMfaSteps } from '../steps.js';

/** Verifies the second factor with a mailed code. */
export const mfaEmailOtpVerify: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post(
    '/oauth/mfa/email-otp/verify',
    throttled(limits, 'POST /oauth/mfa/email-otp/verify'),
    async (request, reply) => {
      const step = await steps.open(request, reply, 'challenge', ['code']);
      if (!step) return reply;
      const { visit, pending, token, form } = step;
      const again = async (error: TextKey) => {
        const factors = await logins.mfaChallenges.factorsOf(pending);
        const { expiresAt, email } = pending;
        return sendChallenge(visit, { token, expiresAt, email, factors, factor: 'email_otp', isSent: true, error });
      };
      const code = form.get('code');
      if (code === undefined) return again('mfa_challenge.error.missing');
      try {
        return await steps.answer(step, { kind: 'email_otp', code });
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'mfa.code_invalid') throw error;
        return again('mfa_challenge.error.email_otp');
      }
    },
  );
};
