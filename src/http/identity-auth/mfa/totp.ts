import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Body, single } from '../../schemas.js';
import { enrolmentEvents } from '../../sign-in-events.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf } from '../signed-in.js';
import { addedAnswers, beginErrors, presentAdded } from './factor-view.js';

const Enrollment = Type.Object({
  enrollment_token: Type.String({ description: 'For `mfa/totp/confirm`, within 30 minutes.' }),
  secret: Type.String({ description: 'Base32, for those who type it.' }),
  otpauth_uri: Type.String({ description: 'For an app on the same device.' }),
  qr_svg: Type.String({ description: 'The same as a picture.' }),
});

export const totp: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.post(
    '/mfa/totp/enroll',
    {
      config: { events: [] },
      schema: {
        operationId: 'identityEnrollTotp',
        summary: 'Begin to enrol an authenticator app',
        description:
          'Nothing is stored before the first code. Who has a factor already needs a sign-in of the last ten minutes with it.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        response: { 200: single(Enrollment), ...beginErrors },
      },
    },
    async (request, reply) => {
      const { sealed, secret, uri, qrSvg } = await api.factors.beginTotp(proofOf(request));
      return reply.send({ data: { enrollment_token: sealed, secret, otpauth_uri: uri, qr_svg: qrSvg } });
    },
  );

  app.post(
    '/mfa/totp/confirm',
    {
      config: { events: enrolmentEvents },
      schema: {
        operationId: 'identityConfirmTotp',
        summary: 'Enrol an authenticator app with its first code',
        description: 'With the first factor come recovery codes, where the environment takes them.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        body: Body({
          enrollment_token: Type.String({ maxLength: 2048 }),
          code: Type.String({ pattern: '^[0-9]{6}$', description: '6 digits.' }),
        }),
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
