import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { presentAdded, presentTotpEnrollment, TotpConfirmation, TotpEnrollmentView } from '../../mfa-schemas.js';
import { Body, single } from '../../schemas.js';
import { enrollmentEvents } from '../../sign-in-events.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf } from '../signed-in.js';
import { addedAnswers, beginErrors } from './factor-view.js';

export const totp: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.post(
    '/mfa/totp/enroll',
    {
      config: { events: [] },
      schema: {
        operationId: 'identityEnrollTotp',
        summary: 'Begin to enroll an authenticator app',
        description:
          'Nothing is stored before the first code. It needs a sign-in of the last ten minutes, with a factor where the person has one. Who is in a production environment, too, does it there.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        response: { 200: single(TotpEnrollmentView), ...beginErrors },
      },
    },
    async (request, reply) => {
      return reply.send({ data: presentTotpEnrollment(await api.factors.beginTotp(proofOf(request))) });
    },
  );

  app.post(
    '/mfa/totp/confirm',
    {
      config: { events: enrollmentEvents },
      schema: {
        operationId: 'identityConfirmTotp',
        summary: 'Enroll an authenticator app with its first code',
        description: 'With the first factor come recovery codes, where the environment takes them.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        body: Body(TotpConfirmation),
        response: addedAnswers,
      },
    },
    async (request, reply) => {
      const { enrollment_token: sealed, code } = request.body;
      const added = await api.factors.confirmTotp(proofOf(request), { sealed, code });
      return reply.code(201).send({ data: presentAdded(added) });
    },
  );
};
