import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { challengeEvents } from '../../../event-lists/sign-in.js';
import { mfaLimit } from '../../../mfa/limits.js';
import { EmailedCode } from '../../../mfa/schemas.js';
import { browserLocaleOf } from '../../../pages/locale.js';
import { errors } from '../../../surfaces/operation.js';
import { Body, Message } from '../../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../../options.js';
import { AnswerFields, allowChallenger, answerWith, ChallengeFields, challengeAnswers } from './answer.js';

export const emailOtpChallenge: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const answer = answerWith(options);
  allowChallenger(app, options);
  app.post(
    '/mfa/challenge/email-otp/send',
    {
      config: { events: ['auth.emailed_code_requested'] },
      preValidation: options.limits.exact(mfaLimit('identity', 'email-otp-send', 3)),
      schema: {
        operationId: 'identityChallengeEmailOtpSend',
        summary: 'Email a code to the confirmed email address',
        description:
          'It is valid for ten minutes, as is the `challenge_token` from then on, and invalidates an earlier one. Half an ' +
          'hour after the sign-in began no more codes are sent for it (`mfa.challenge_invalid`).',
        tags: ['End-user authentication'],
        body: Body(ChallengeFields),
        response: {
          200: Message,
          ...errors(
            'validation.failed',
            'mfa.challenge_invalid',
            'mfa.email_unavailable',
            'auth.multiple_credentials',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      await options.api.challenges.sendEmailCode(request.body.challenge_token, (ofEnvironment) =>
        browserLocaleOf(request, ofEnvironment),
      );
      return reply.send({ data: { message: 'We have sent an email with a code.' } });
    },
  );

  app.post(
    '/mfa/challenge/email-otp',
    {
      config: { events: challengeEvents },
      preValidation: options.limits.exact(mfaLimit('identity', 'email-otp', 10)),
      schema: {
        operationId: 'identityChallengeEmailOtp',
        summary: 'Verify the second factor with an emailed code',
        description:
          'Five attempts per code. Ten wrong codes of a person in 15 minutes, or fifty in a day, block further ones.',
        tags: ['End-user authentication'],
        body: Body({
          ...AnswerFields,
          code: EmailedCode,
        }),
        response: challengeAnswers,
      },
    },
    (request, reply) => answer(request, reply, { kind: 'email_otp', code: request.body.code }),
  );
};
