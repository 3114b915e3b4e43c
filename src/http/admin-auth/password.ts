import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf } from './signed-in.js';

/** Longer than any password that can be set; normalizing a megabyte would hold up everyone else. */
export const Password = Type.String({ maxLength: 1024, description: '8 to 128 characters, in no known data breach.' });

export const password: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users }) => {
  app.put(
    '/password',
    {
      config: { events: ['auth.password_changed', 'auth.password_change_failed'] },
      schema: {
        operationId: 'changePassword',
        summary: 'Change your password',
        description:
          'Ends the other sessions of the user, keeps the calling one, and notifies the user by email. Ten wrong current ' +
          'passwords in 15 minutes, or fifty in a day, block further attempts. A user without a password sets one through ' +
          '`password/forgot`.',
        tags: ['Admin authentication'],
        security: [{ bearer: [] }],
        body: Body({ current_password: Type.String({ maxLength: 1024 }), new_password: Password }),
        response: {
          200: Message,
          ...errors(
            'validation.failed',
            'password.wrong',
            'password.breached',
            'password.context_specific',
            'auth.invalid_credentials',
            'principal.wrong_type',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { current_password: currentPassword, new_password: newPassword } = request.body;
      const locale = browserLocaleOf(request);
      await users.passwords.change(subjectOf(request), { currentPassword, newPassword, locale });
      return reply.send({ data: { message: 'Your password is changed. Your other sessions were signed out.' } });
    },
  );
};
