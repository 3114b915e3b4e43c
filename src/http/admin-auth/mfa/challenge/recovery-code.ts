import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { mfaLimit } from '../../../mfa/limits.js';
import { Body } from '../../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../../options.js';
import { sameOrigin } from '../../origin.js';
import { answerWith, ChallengeFields, challengeAnswers, challengeEvents } from './answer.js';

export const recoveryCodeChallenge: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const answer = answerWith(options);
  app.post(
    '/mfa/challenge/recovery-code',
    {
      config: { events: [...challengeEvents, 'auth.admin_recovery_code_used'] },
      onRequest: [sameOrigin(options), options.limits.exact(mfaLimit('admin', 'recovery-code', 10))],
      schema: {
        operationId: 'adminChallengeRecoveryCode',
        summary: 'Verify the second factor with a recovery code',
        description:
          'Each code works once, and its use is notified by email. The response is like that of `login`. Ten wrong ' +
          'answers of a user in 15 minutes, or fifty in a day, block further ones.',
        tags: ['Admin authentication'],
        body: Body({ ...ChallengeFields, code: Type.String({ minLength: 1, maxLength: 64 }) }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'recovery_code', code: request.body.code }),
  );
};
