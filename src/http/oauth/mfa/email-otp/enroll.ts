import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import { givingBack } from '../../../../domain/limits/rate-limits.js';
import { readerLocaleOf } from '../../../pages/send-page.js';
import { wantsJson } from '../../../pages/wants-json.js';
import type { HostedOptions } from '../../options.js';
import { pageOptions } from '../../page-options.js';
import { throttled } from '../../throttles.js';
import { createMfaSteps, isOver } from '../steps.js';
import { sendEmailEnrollment } from './enrollment-page.js';

/** Enrolls codes by mail: sends a first code, and checks it. */
export const mfaEmailOtpEnroll: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post(
    '/oauth/mfa/email-otp/enroll/send',
    throttled(limits, 'POST /oauth/mfa/email-otp/enroll/send'),
    async (request, reply) => {
      const step = await steps.open(request, reply, 'enrollment', ['again']);
      if (!step) return reply;
      const { visit, pending, form } = step;
      const error = await logins.mfaChallenges
        .sendEnrollmentCode(pending, readerLocaleOf(request, pageOptions(visit)))
        .then(
          () => null,
          (refusal) => {
            if (isOver(refusal)) return 'over';
            if (!(refusal instanceof DomainError) || refusal.code !== 'rate_limit.exceeded') throw refusal;
            return 'mfa_challenge.error.send_too_often' as const;
          },
        );
      if (error === 'over') return steps.over(request, reply, step);
      const isAgain = form.has('again');
      // The earlier code still works: a page without its field would leave it useless.
      const isSent = error === null || (isAgain && !wantsJson(request));
      return sendEmailEnrollment(step, { isSent, isAgain: isAgain && error === null, error });
    },
  );

  app.post(
    '/oauth/mfa/email-otp/enroll/verify',
    throttled(limits, 'POST /oauth/mfa/email-otp/enroll/verify'),
    async (request, reply) => {
      const step = await steps.open(request, reply, 'enrollment', ['code']);
      if (!step) return reply;
      const { pending, form } = step;
      const { id: flow, identityId } = pending;
      const tried = { identityId, flow, code: form.get('code') ?? '' };
      try {
        const factor = await logins.emailFactor.confirmEnrollment(pending, tried);
        const codes = steps.codesFor(step, factor);
        const enrolled = await givingBack(
          () => logins.mfaEnrollments.enroll(pending, factor, ['otp'], codes),
          () => logins.emailFactor.giveBack(factor),
        );
        return await steps.enrolled(step, enrolled);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        if (error.code === 'mfa.code_invalid') {
          return sendEmailEnrollment(step, { isSent: true, error: 'mfa_challenge.error.email_otp' });
        }
        if (error.code !== 'mfa.enrollment_expired' && error.code !== 'mfa.already_enrolled') throw error;
        const id = await logins.emailFactor.justEnrolled(pending, tried);
        // The code is spent before the factor is stored.
        return steps.overtaken(step, id === null ? null : { id }, { isRunning: true });
      }
    },
  );
};
