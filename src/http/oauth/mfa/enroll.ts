import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { provedIn } from '../../../domain/logins/pending-sign-ins.js';
import { shownClient } from '../../pages/page-client.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import type { HostedOptions } from '../options.js';
import { pageOptions } from '../page-options.js';
import { sendEmailEnrollment } from './email-otp/enrollment-page.js';
import { createMfaSteps, type Step } from './steps.js';
import { sendTotpEnrollment } from './totp/enrollment-page.js';

/** Handles the choice of a factor to enroll, or its postponement during the grace period. */
export const mfaEnroll: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, hosted } = options;
  const steps = createMfaSteps(options);

  app.post('/oauth/mfa/enroll', async (request, reply) => {
    const step = await steps.open(request, reply, 'enrollment', ['factor', 'choice']);
    if (!step) return reply;
    const { visit, pending, form } = step;
    if (form.get('choice') === 'later') {
      if (!(await logins.pendingSignIns.complete(pending.id))) return steps.over(request, reply, step);
      return steps.orExpired(step, hosted.postponed(visit, provedIn(pending), pending));
    }
    switch (form.get('factor')) {
      case 'totp':
        steps.markBrowser(visit);
        return sendTotpEnrollment(step, await logins.totp.beginEnrollment(pending, pending));
      case 'email_otp':
        steps.markBrowser(visit);
        return sendEmailEnrollment(step, { isSent: false });
      case 'webauthn':
        return sendWebauthnEnrollment(step);
      default:
        return steps.orExpired(
          step,
          hosted.chooseFactor(visit, step, () => steps.over(request, reply, step)),
        );
    }
  });
};

/** Asks for a passkey or security key; the script does the rest, at its own endpoints. */
function sendWebauthnEnrollment({ visit, token }: Step) {
  const { request, reply, client, authorizeRequest } = visit;
  if (wantsJson(request)) return reply.send({ enrollment_token: token });
  return sendPage(
    request,
    reply,
    'mfa-enroll-webauthn',
    {
      otherAction: '/oauth/mfa/enroll',
      params: authorizeRequest.parameters,
      token,
      client: shownClient(client),
    },
    { ...pageOptions(visit), scripts: ['webauthn'] },
  );
}
