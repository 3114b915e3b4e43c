import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { mfaLimit } from '../../../mfa/limits.js';
import { TotpCode } from '../../../mfa/schemas.js';
import { Body } from '../../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../../options.js';
import { sameOrigin } from '../../origin.js';
import { answerWith, ChallengeFields, challengeAnswers, challengeEvents } from './answer.js';

export const totpChallenge: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const answer = answerWith(options);
  app.post(
    '/mfa/challenge/totp',
    {
      config: { events: challengeEvents },
      onRequest: [sameOrigin(options), options.limits.exact(mfaLimit('admin', 'totp', 10))],
      schema: {
        operationId: 'adminChallengeTotp',
        summary: 'Verify the second factor with a code of an authenticator app',
        description:
          'A code works once. The response is like that of `login`. Ten wrong answers of a user in 15 minutes, or fifty in a ' +
          'day, block further ones.',
        tags: ['Admin authentication'],
        body: Body({
          ...ChallengeFields,
          code: TotpCode,
        }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'totp', code: request.body.code }),
  );
};
