import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import type { NewFactor } from '../../../../domain/mfa/factors.js';
import type { HostedOptions } from '../../options.js';
import { throttled } from '../../throttles.js';
import { createMfaSteps } from '../steps.js';
import { sendTotpEnrollment } from './enrollment-page.js';

/** Enrolls an authenticator app by its first code. */
export const mfaTotpEnroll: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post('/oauth/mfa/totp/enroll', throttled(limits, 'POST /oauth/mfa/totp/enroll'), async (request, reply) => {
    const step = await steps.open(request, reply, 'enrollment', ['code', 'totp_token']);
    if (!step) return reply;
    const { pending, form, visit } = step;
    const sealed = form.get('totp_token') ?? '';
    let factor: NewFactor | null = null;
    try {
      const { totpDriftSteps: drift } = visit.client.settings;
      const first = { sealed, code: form.get('code') ?? '', drift };
      factor = logins.totp.confirmEnrollment(pending.identityId, first);
      return await steps.enrolled(
        step,
        await logins.mfaEnrollments.enroll(pending, factor, ['otp'], steps.codesFor(step, factor)),
      );
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (error.code === 'mfa.code_invalid') {
        const shown = await logins.totp.resumeEnrollment(pending, pending, sealed);
        return sendTotpEnrollment(step, shown, 'mfa_enroll_totp.error');
      }
      if (error.code !== 'mfa.enrollment_expired' && error.code !== 'mfa.already_enrolled') throw error;
      return steps.overtaken(step, factor);
    }
  });
};
