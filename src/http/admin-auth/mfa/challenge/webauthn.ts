import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { mfaLimit } from '../../../mfa/limits.js';
import { Json } from '../../../mfa/schemas.js';
import { errors } from '../../../surfaces/operation.js';
import { Body, single } from '../../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../../options.js';
import { sameOrigin } from '../../origin.js';
import { answerWith, ChallengeFields, challengeAnswers, challengeEvents } from './answer.js';

export const webauthnChallenge: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits } = options;
  const answer = answerWith(options);
  app.post(
    '/mfa/challenge/webauthn/options',
    {
      config: { events: [] },
      onRequest: [sameOrigin(options), limits.exact(mfaLimit('admin', 'webauthn-options', 10))],
      schema: {
        operationId: 'adminChallengeWebauthnOptions',
        summary: 'Get the options for `navigator.credentials.get`',
        description: 'New options invalidate earlier ones. The relying party is the host of this service.',
        tags: ['Admin authentication'],
        body: Body(ChallengeFields),
        response: {
          200: single(Json('`PublicKeyCredentialRequestOptionsJSON`')),
          ...errors(
            'validation.failed',
            'mfa.challenge_invalid',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) =>
      reply.send({ data: { ...(await users.mfa.challenges.webauthnOptions(request.body.challenge_token)) } }),
  );

  app.post(
    '/mfa/challenge/webauthn',
    {
      config: { events: [...challengeEvents, 'auth.admin_webauthn_counter_regressed'] },
      onRequest: [sameOrigin(options), limits.exact(mfaLimit('admin', 'webauthn', 10))],
      schema: {
        operationId: 'adminChallengeWebauthn',
        summary: 'Verify the second factor with a passkey or security key',
        description:
          'The response is like that of `login`. Ten wrong answers of a user in 15 minutes, or fifty in a day, block further ones.',
        tags: ['Admin authentication'],
        body: Body({ ...ChallengeFields, response: Json('`AuthenticationResponseJSON`') }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'webauthn', response: request.body.response }),
  );
};
