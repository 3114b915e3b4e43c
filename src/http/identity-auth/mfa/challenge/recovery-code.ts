import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { challengeEvents } from '../../../event-lists/sign-in.js';
import { mfaLimit } from '../../../mfa/limits.js';
import { Body } from '../../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../../options.js';
import { AnswerFields, allowChallenger, answerWith, challengeAnswers } from './answer.js';

export const recoveryCodeChallenge: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const answer = answerWith(options);
  allowChallenger(app, options);
  app.post(
    '/mfa/challenge/recovery-code',
    {
      config: { events: [...challengeEvents, 'auth.recovery_code_used'] },
      preValidation: options.limits.exact(mfaLimit('identity', 'recovery-code', 10)),
      schema: {
        operationId: 'identityChallengeRecoveryCode',
        summary: 'Verify the second factor with a recovery code',
        description:
          'Each code works once. Ten wrong codes of a person in 15 minutes, or fifty in a day, block further ones.',
        tags: ['End-user authentication'],
        body: Body({ ...AnswerFields, code: Type.String({ minLength: 1, maxLength: 64 }) }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'recovery_code', code: request.body.code }),
  );
};
