import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { allowOrigins } from '../browsers/cors.js';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message, TypedEmail } from '../surfaces/schemas.js';
import { authenticateClient, ClientFields, namedClient } from './client.js';
import type { IdentityAuthOptions } from './options.js';

const perIp = { name: 'identity-password-forgot', points: 5, windowSeconds: 3600 };

export const passwordForgot: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (
  app,
  { provider, logins, limits },
) => {
  allowOrigins(app, 'preValidation', (request) => namedClient(provider, request));
  app.post(
    '/password/forgot',
    {
      config: { events: ['auth.identity_password_link_requested'] },
      preValidation: limits.exact(perIp),
      schema: {
        operationId: 'identityForgotPassword',
        summary: 'Email a link for setting a new password',
        description:
          'The response and its timing are the same for every email address, known or not. If the environment does not allow ' +
          'passwords, nothing is emailed. The link opens a page of this service; its token may also be sent to ' +
          '`password/reset`. It works once, for an hour, and a newer one invalidates it. At most 5 requests per ' +
          'hour and email address.',
        tags: ['End-user authentication'],
        body: Body({ ...ClientFields, email: TypedEmail }),
        response: {
          200: Message,
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
      const client = await authenticateClient(provider, request);
      const locale = browserLocaleOf(request, client.settings.defaultLocale);
      await logins.passwordReset.forgot({ client, email: request.body.email, locale, parameters: {} });
      const message = 'If somebody signs in with this address, we have sent an email with a link to it.';
      return reply.send({ data: { message } });
    },
  );
};
