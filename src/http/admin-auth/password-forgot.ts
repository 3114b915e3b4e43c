import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message, TypedEmail } from '../surfaces/schemas.js';
import { byMailAddress } from './limits.js';
import type { AdminAuthOptions } from './options.js';

const perIp = { name: 'admin-password-forgot', points: 5, windowSeconds: 3600 };
const perMailAddress = { name: 'admin-password-forgot-address', points: 3, windowSeconds: 3600 };

export const passwordForgot: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits }) => {
  app.post(
    '/password/forgot',
    {
      config: { events: ['auth.password_link_requested'] },
      onRequest: limits.exact(perIp),
      // Counted whether or not the address is known, so that the refusal reveals nothing either.
      preHandler: limits.exact(perMailAddress, byMailAddress),
      schema: {
        operationId: 'forgotPassword',
        summary: 'Email a link for setting a new password',
        description:
          'The response and its timing are the same for every email address, known or not. The link works once, for an hour; a ' +
          'newer link invalidates it.',
        tags: ['Admin authentication'],
        body: Body({ email: TypedEmail }),
        response: { 200: Message, ...errors('validation.failed', 'rate_limit.exceeded', 'service.unavailable') },
      },
    },
    async (request, reply) => {
      const locale = browserLocaleOf(request);
      await users.passwords.forgot({ email: request.body.email, locale });
      const message = 'If somebody signs in with this address, we have sent an email with a link to it.';
      return reply.send({ data: { message } });
    },
  );
};
