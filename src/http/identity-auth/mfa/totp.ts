import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { enrollmentEvents } from '../../event-lists/sign-in.js';
import { presentTotpEnrollment, TotpConfirmation, TotpEnrollmentView } from '../../mfa/schemas.js';
import { Body, single } from '../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf } from '../signed-in.js';
import { addedAnswers, beginErrors, presentAdded } from './factor-view.js';

export const totp: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.post(
    '/mfa/totp/enroll',
    {
      config: { events: [] },
      schema: {
        operationId: 'identityEnrollTotp',
        summary: 'Start enrolling an authenticator app',
        description:
          'Nothing is stored until the first code is verified. Requires a sign-in within the last ten minutes, with a factor ' +
          'if the person has one. A person who is also in a production environment must do it there.',
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
        description: 'The first factor comes with recovery codes, if the environment allows them.',
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
