import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { challengeEvents } from '../../../event-lists/sign-in.js';
import { mfaLimit } from '../../../mfa/limits.js';
import { Json } from '../../../mfa/schemas.js';
import { errors } from '../../../surfaces/operation.js';
import { Body, single } from '../../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../../options.js';
import { AnswerFields, allowChallenger, answerWith, ChallengeFields, challengeAnswers } from './answer.js';

export const webauthnChallenge: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const answer = answerWith(options);
  allowChallenger(app, options);
  app.post(
    '/mfa/challenge/webauthn/options',
    {
      config: { events: [] },
      preValidation: options.limits.exact(mfaLimit('identity', 'webauthn-options', 10)),
      schema: {
        operationId: 'identityChallengeWebauthnOptions',
        summary: 'Get the options for `navigator.credentials.get`',
        description:
          'New options invalidate earlier ones. `mfa.factor_not_allowed`: `available_factors` of the challenge lacks ' +
          '`webauthn`.',
        tags: ['End-user authentication'],
        body: Body(ChallengeFields),
        response: {
          200: single(Json('`PublicKeyCredentialRequestOptionsJSON`')),
          ...errors(
            'validation.failed',
            'mfa.challenge_invalid',
            'mfa.factor_not_allowed',
            'auth.multiple_credentials',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) =>
      reply.send({ data: { ...(await options.api.challenges.webauthnOptions(request.body.challenge_token)) } }),
  );

  app.post(
    '/mfa/challenge/webauthn',
    {
      config: { events: [...challengeEvents, 'auth.webauthn_counter_regressed'] },
      preValidation: options.limits.exact(mfaLimit('identity', 'webauthn', 10)),
      schema: {
        operationId: 'identityChallengeWebauthn',
        summary: 'Verify the second factor with a passkey or security key',
        description: 'Ten wrong responses of a person in 15 minutes, or fifty in a day, block further ones.',
        tags: ['End-user authentication'],
        body: Body({ ...AnswerFields, response: Json('`AuthenticationResponseJSON`') }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'webauthn', response: request.body.response }),
  );
};
