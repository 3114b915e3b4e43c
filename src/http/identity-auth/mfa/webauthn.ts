import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { enrollmentEvents } from '../../event-lists/sign-in.js';
import { mfaLimit } from '../../mfa/limits.js';
import { WebauthnConfirmation, WebauthnOptionsView } from '../../mfa/schemas.js';
import { Body, single } from '../../surfaces/schemas.js';
import type { IdentityAuthOptions } from '../options.js';
import { proofOf } from '../signed-in.js';
import { addedAnswers, beginErrors, presentAdded } from './factor-view.js';

export const webauthn: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api, limits }) => {
  app.post(
    '/mfa/webauthn/enroll/options',
    {
      config: { events: [] },
      preValidation: limits.exact(mfaLimit('identity', 'webauthn-enroll-options', 5)),
      schema: {
        operationId: 'identityEnrollWebauthnOptions',
        summary: 'Get the options for `navigator.credentials.create`',
        description:
          'Requires a sign-in within the last ten minutes, with a factor if the person has one. A person who is also in a ' +
          'production environment must do it there. The relying party is the host of this service, and its origin is the only ' +
          'one accepted: pages of other hosts and Android apps cannot respond; an iOS app can if ' +
          "`/.well-known/apple-app-site-association` of the host, which the operator's proxy must serve, names it.",
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        response: { 200: single(WebauthnOptionsView), ...beginErrors },
      },
    },
    async (request, reply) => {
      const { token, options } = await api.factors.beginWebauthn(proofOf(request));
      return reply.send({ data: { enrollment_token: token, options: { ...options } } });
    },
  );

  app.post(
    '/mfa/webauthn/enroll/verify',
    {
      config: { events: enrollmentEvents },
      preValidation: limits.exact(mfaLimit('identity', 'webauthn-enroll-verify', 10)),
      schema: {
        operationId: 'identityEnrollWebauthnVerify',
        summary: 'Enroll a passkey or security key',
        description: 'The first factor comes with recovery codes, if the environment allows them.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        body: Body(WebauthnConfirmation),
        response: addedAnswers,
      },
    },
    async (request, reply) => {
      const { enrollment_token: token, response: sent, label = null } = request.body;
      const added = await api.factors.confirmWebauthn(proofOf(request), { token, sent, label });
      return reply.code(201).send({ data: presentAdded(added) });
    },
  );
};
