import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { allowOrigins } from '../browsers/cors.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { signInEvents } from '../event-lists/sign-in.js';
import { errors } from '../surfaces/operation.js';
import { Body, Id, single } from '../surfaces/schemas.js';
import { LoginResult, presentLogin } from './answers.js';
import { ClientFields, countedClient, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';
import { VisitFields, visitOf } from './visit.js';

export const selectApplication: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider, api } = options;
  const device = secretCookie(provider.baseUrl, 'trusted_device');
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.post(
    '/select-application',
    {
      config: { events: signInEvents },
      schema: {
        operationId: 'identitySelectApplication',
        summary: 'Continue the sign-in at another application',
        description:
          'Takes the `selection_token` of `login`. `client_id` is a client of the chosen application, in an environment of ' +
          'which the person is a member; a second factor is asked for as that environment requires.',
        tags: ['End-user authentication'],
        body: Body({
          ...ClientFields,
          selection_token: Type.String({ maxLength: 2048 }),
          application_id: Id,
          ...VisitFields,
        }),
        response: {
          200: single(LoginResult),
          ...errors(
            'validation.failed',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'login.consent_required',
            'login.method_not_allowed',
            'mfa.enrollment_required',
            'sso_required',
            'application.not_found',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { selection_token: token, application_id: applicationId } = request.body;
      const client = await countedClient(options, request, reply);
      const result = await api.signIn.withSelection(visitOf(request, client, device), { token, applicationId });
      return reply.send({ data: presentLogin(result, provider.now) });
    },
  );
};
