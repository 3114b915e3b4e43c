import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { challengeEvents } from '../../../event-lists/sign-in.js';
import { mfaLimit } from '../../../mfa/limits.js';
import { TotpCode } from '../../../mfa/schemas.js';
import { Body } from '../../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../../options.js';
import { AnswerFields, allowChallenger, answerWith, challengeAnswers } from './answer.js';

export const totpChallenge: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const answer = answerWith(options);
  allowChallenger(app, options);
  app.post(
    '/mfa/challenge/totp',
    {
      config: { events: challengeEvents },
      preValidation: options.limits.exact(mfaLimit('identity', 'totp', 10)),
      schema: {
        operationId: 'identityChallengeTotp',
        summary: 'Verify the second factor with a code of an authenticator app',
        description:
          'A code works once. Ten wrong codes of a person in 15 minutes, or fifty in a day, block further ones.',
        tags: ['End-user authentication'],
        body: Body({
          ...AnswerFields,
          code: TotpCode,
        }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'totp', code: request.body.code }),
  );
};
