import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { presentTotpEnrollment, TotpConfirmation, TotpEnrollmentView } from '../../mfa/schemas.js';
import { browserLocaleOf } from '../../pages/locale.js';
import { Body, single } from '../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../options.js';
import { subjectOf } from '../signed-in.js';
import { addedAnswers, beginErrors, common, presentAdded } from './shared.js';

export const totp: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users }) => {
  app.post(
    '/mfa/totp/enroll',
    {
      config: { events: [] },
      schema: {
        ...common,
        operationId: 'adminEnrollTotp',
        summary: 'Start enrolling an authenticator app',
        description:
          'Nothing is stored until the first code is verified. Requires a sign-in within the last ten minutes, with a second ' +
          'factor if there is one.',
        response: { 200: single(TotpEnrollmentView), ...beginErrors },
      },
    },
    async (request, reply) =>
      reply.send({ data: presentTotpEnrollment(await users.mfa.own.beginTotp(subjectOf(request))) }),
  );

  app.post(
    '/mfa/totp/confirm',
    {
      config: { events: ['auth.admin_mfa_enrolled'] },
      schema: {
        ...common,
        operationId: 'adminConfirmTotp',
        summary: 'Enroll an authenticator app with its first code',
        description:
          'The first factor comes with recovery codes. From now on, the session counts as authenticated with two factors, and ' +
          'its next access token says so. The user is notified by email. Wrong codes count together with those at sign-in: 10 ' +
          'in 15 minutes.',
        body: Body(TotpConfirmation),
        response: addedAnswers,
      },
    },
    async (request, reply) => {
      const { enrollment_token: sealed, code } = request.body;
      const added = await users.mfa.own.confirmTotp(subjectOf(request), { sealed, code }, browserLocaleOf(request));
      return reply.code(201).send({ data: presentAdded(added) });
    },
  );
};
