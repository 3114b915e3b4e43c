import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../../../domain/errors.js';
import { givingBack } from '../../../../domain/limits/rate-limits.js';
import { onlyOnce, readParameters } from '../../../../domain/oidc/requests/parameters.js';
import { assertOwnOrigin } from '../../../browsers/origin.js';
import type { HostedOptions } from '../../options.js';
import { relyingPartyOf } from '../../relying-party.js';
import { throttled } from '../../throttles.js';
import type { Visit } from '../../visit.js';
import { credentialIn, refuseInJson } from '../../webauthn-json.js';
import { createMfaSteps, type Step } from '../steps.js';

/** Enrolls a passkey or security key during a sign-in. */
export const enroll: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits, hosted } = options;
  const { webauthnEnrollments, mfaEnrollments } = logins;
  const steps = createMfaSteps(options);

  /** Finds the sign-in of a token, which is the page's own or that of new options; null if the sign-in is over. */
  async function open(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<(Step & { challenge: string | null }) | null> {
    const read = readParameters(request.body);
    const form = onlyOnce(read, ['enrollment_token', 'label']);
    assertOwnOrigin(request, provider.baseUrl);
    const held = webauthnEnrollments.read(form.get('enrollment_token') ?? '');
    const pending = held && (await steps.find(request, held.token));
    if (!held || pending?.purpose !== 'enrollment') return null;
    return { visit: await hosted.resume(request, reply, pending, read), pending, form, read, ...held };
  }

  app.post(
    '/oauth/mfa/webauthn/enroll/options',
    throttled(limits, 'POST /oauth/mfa/webauthn/enroll/options'),
    async (request, reply) => {
      const step = await open(request, reply);
      if (!step) return refuseInJson(reply, 'expired');
      const { visit, pending, token } = step;
      assertAllowed(visit);
      const relyingParty = relyingPartyOf(visit.client);
      const begun = await webauthnEnrollments.begin(pending, { token, name: pending.email, relyingParty });
      return reply.send({ options: begun.options, enrollment_token: begun.token });
    },
  );

  app.post(
    '/oauth/mfa/webauthn/enroll/verify',
    throttled(limits, 'POST /oauth/mfa/webauthn/enroll/verify'),
    async (request, reply) => {
      const step = await open(request, reply);
      if (!step) return refuseInJson(reply, 'expired');
      const { pending, form, challenge } = step;
      assertAllowed(step.visit);
      try {
        const sent = credentialIn(request.body);
        const { factor, amr } = await webauthnEnrollments.verify(pending, {
          challenge,
          sent,
          label: form.get('label') ?? null,
        });
        const enrolled = await givingBack(
          () => mfaEnrollments.enroll(pending, factor, amr),
          () => webauthnEnrollments.giveBack(pending, challenge),
        );
        return await steps.enrolled(step, enrolled);
      } catch (error) {
        if (error instanceof DomainError && error.code === 'mfa.enrollment_expired') {
          return refuseInJson(reply, 'expired');
        }
        throw error;
      }
    },
  );
};

function assertAllowed({ client }: Visit) {
  if (!client.settings.mfaAllowedFactors.includes('webauthn')) throw new DomainError('mfa.factor_not_allowed');
}
