import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { mfaLimit } from '../../mfa/limits.js';
import { WebauthnConfirmation, WebauthnOptionsView } from '../../mfa/schemas.js';
import { browserLocaleOf } from '../../pages/locale.js';
import { Body, single } from '../../surfaces/schemas.js';
import type { AdminAuthOptions } from '../options.js';
import { subjectOf } from '../signed-in.js';
import { addedAnswers, beginErrors, common, presentAdded } from './shared.js';

export const webauthn: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits }) => {
  app.post(
    '/mfa/webauthn/enroll/options',
    {
      config: { events: [] },
      preValidation: limits.exact(mfaLimit('admin', 'webauthn-enroll-options', 5)),
      schema: {
        ...common,
        operationId: 'adminEnrollWebauthnOptions',
        summary: 'Get the options for `navigator.credentials.create`',
        description:
          'Requires a sign-in within the last ten minutes, with a second factor if there is one. The relying party is the host ' +
          'of this service.',
        response: { 200: single(WebauthnOptionsView), ...beginErrors },
      },
    },
    async (request, reply) => {
      const { token, options } = await users.mfa.own.beginWebauthn(subjectOf(request));
      return reply.send({ data: { enrollment_token: token, options: { ...options } } });
    },
  );

  app.post(
    '/mfa/webauthn/enroll/verify',
    {
      config: { events: ['auth.admin_mfa_enrolled'] },
      preValidation: limits.exact(mfaLimit('admin', 'webauthn-enroll-verify', 10)),
      schema: {
        ...common,
        operationId: 'adminEnrollWebauthnVerify',
        summary: 'Enroll a passkey or security key',
        description:
          'The first factor comes with recovery codes. From now on, the session counts as authenticated with two factors. The ' +
          'user is notified by email.',
        body: Body(WebauthnConfirmation),
        response: addedAnswers,
      },
    },
    async (request, reply) => {
      const { enrollment_token: token, response: sent, label = null } = request.body;
      const answer = { token, sent, label };
      const added = await users.mfa.own.confirmWebauthn(subjectOf(request), answer, browserLocaleOf(request));
      return reply.code(201).send({ data: presentAdded(added) });
    },
  );
};
