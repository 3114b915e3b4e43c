import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { HostedOptions } from '../../options.js';
import { throttled } from '../../throttles.js';
import { credentialIn } from '../../webauthn-json.js';
import { createMfaSteps } from '../steps.js';

/** Verifies a passkey or security key that the person has enrolled. */
export const challenge: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post(
    '/oauth/mfa/webauthn/options',
    throttled(limits, 'POST /oauth/mfa/webauthn/options'),
    async (request, reply) => {
      const step = await steps.open(request, reply, 'challenge');
      if (!step) return reply;
      return reply.send(await logins.mfaChallenges.webauthnOptions(step.pending));
    },
  );

  app.post(
    '/oauth/mfa/webauthn/verify',
    throttled(limits, 'POST /oauth/mfa/webauthn/verify'),
    async (request, reply) => {
      const step = await steps.open(request, reply, 'challenge');
      if (!step) return reply;
      // Not validated here: the check treats it as untrusted input.
      const response = credentialIn(request.body) as AuthenticationResponseJSON;
      return steps.answer(step, { kind: 'webauthn', response });
    },
  );
};
