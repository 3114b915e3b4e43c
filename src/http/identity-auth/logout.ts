import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errors } from '../operation.js';
import { credentialsOf } from '../principals/credentials.js';
import { Nullable } from '../schemas.js';
import { ClientFields, countedClient, namedClient } from './client.js';
import { allowOrigins } from './cors.js';
import type { IdentityAuthOptions } from './options.js';
import { clientOfToken, subjectOf } from './signed-in.js';

const ByRefreshToken = Type.Object(
  { ...ClientFields, refresh_token: Type.String({ maxLength: 1024 }) },
  { additionalProperties: false },
);

export const logout: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider, api, limits } = options;
  allowOrigins(
    app,
    'preValidation',
    async (request) => (await namedClient(provider, request)) ?? clientOfToken(provider, request),
  );
  app.post(
    '/logout',
    {
      config: { events: ['auth.identity_signed_out'] },
      schema: {
        operationId: 'identityLogout',
        summary: 'Sign out',
        description:
          'Ends the session of the bearer token, or of a refresh token of the client, with everything that was issued in it. Nothing to end is no error.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }, {}],
        body: Nullable(ByRefreshToken),
        response: {
          204: Type.Null(),
          ...errors(
            'validation.failed',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'principal.wrong_type',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { bearer } = credentialsOf(request);
      if (request.body) {
        const client = await countedClient(options, request, reply);
        await api.sessions.signOutBy(client, request.body.refresh_token);
      } else await limits.general('anonymous', request.ip, reply);
      const proven = bearer && (await provider.accessTokens.prove(bearer));
      if (proven) await api.sessions.signOut(subjectOf(proven));
      return reply.code(204).send(null);
    },
  );
};
