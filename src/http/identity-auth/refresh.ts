import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { allowOrigins } from '../browsers/cors.js';
import { errors } from '../surfaces/operation.js';
import { Body, OneOf, single } from '../surfaces/schemas.js';
import { asRefusal, ClientFields, countedClient, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';

const Tokens = Type.Object({
  access_token: Type.String({ description: 'A JWT (RFC 9068)' }),
  token_type: OneOf(['Bearer']),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  refresh_token: Type.String({ description: 'The next refresh token; for a client without rotation, the same one.' }),
  scope: Type.String(),
});

export const refresh: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider } = options;
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.post(
    '/refresh',
    {
      config: { events: ['session.refresh_reuse_detected'] },
      schema: {
        operationId: 'identityRefresh',
        summary: 'Refresh the access token',
        description:
          'Follows the rules of the token endpoint, which accepts the same tokens: a used token that is sent again within ten ' +
          'seconds is answered once more, and later revokes its grant.',
        tags: ['End-user authentication'],
        body: Body({
          ...ClientFields,
          refresh_token: Type.String({ maxLength: 1024 }),
          scope: Type.Optional(
            Type.String({
              maxLength: 1024,
              description: 'A subset of what was granted. Scopes that would be left out at sign-in are left out.',
            }),
          ),
        }),
        response: {
          200: single(Tokens),
          ...errors(
            'validation.failed',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const client = await countedClient(options, request, reply);
      const { refresh_token: token, scope } = request.body;
      const refreshed = await provider.grants.refresh(client, token, scope).catch(asRefusal);
      return reply.send({ data: await provider.tokens.answerWithoutIdToken({ client, ...refreshed }) });
    },
  );
};
