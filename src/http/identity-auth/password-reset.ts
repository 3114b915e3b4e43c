import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { allowOrigins } from '../browsers/cors.js';
import { provedAddressEvents } from '../event-lists/sign-in.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import { ClientFields, countedClient, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';
import { Password } from './password.js';

export const passwordReset: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, options) => {
  const { provider, logins } = options;
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.post(
    '/password/reset',
    {
      config: { events: provedAddressEvents },
      schema: {
        operationId: 'identityResetPassword',
        summary: 'Set a new password with the token of an emailed link',
        description:
          "Ends every session of the person, and marks the email address as confirmed. Accepts only links of the client's " +
          'environment. If the password is refused, the link keeps working.',
        tags: ['End-user authentication'],
        body: Body({ ...ClientFields, token: Type.String({ maxLength: 200 }), password: Password }),
        response: {
          200: Message,
          ...errors(
            'validation.failed',
            'password.link_invalid',
            'password.breached',
            'password.context_specific',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { environmentId } = await countedClient(options, request, reply);
      const { token, password } = request.body;
      await logins.passwordReset.reset({ token, password, environmentId });
      return reply.send({ data: { message: 'Your password is set, and all your sessions were signed out.' } });
    },
  );
};
