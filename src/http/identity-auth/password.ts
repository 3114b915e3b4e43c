import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import type { IdentityAuthOptions } from './options.js';
import { proofOf } from './signed-in.js';

/** Longer than any password that can be set; normalizing a megabyte would hold up everyone else. */
export const Password = Type.String({
  maxLength: 1024,
  description:
    'As long as the environment requires, at most 128 characters, in no known data breach, and more than a name or an ' +
    'address.',
});

export const password: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.put(
    '/password',
    {
      config: {
        events: ['identity.password_changed', 'identity.sessions_revoked', 'auth.identity_password_change_failed'],
      },
      schema: {
        operationId: 'identityChangePassword',
        summary: 'Change your password',
        description:
          'Ends the other sessions of the person in the whole account, keeps the calling one, and notifies the person by ' +
          'email. Ten wrong current passwords in 15 minutes, or fifty in a day, block further attempts. A person with an ' +
          'authenticator app or a key needs a session that was authenticated with it; a person without a password sets one ' +
          'through `password/forgot`. 404 if the environment does not allow passwords.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        body: Body({ current_password: Type.String({ maxLength: 1024 }), new_password: Password }),
        response: {
          200: Message,
          ...errors(
            'validation.failed',
            'password.wrong',
            'password.breached',
            'password.context_specific',
            'auth.multiple_credentials',
            'auth.invalid_credentials',
            'auth.reauthentication_required',
            'principal.wrong_type',
            'route.not_found',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { current_password: currentPassword, new_password: newPassword } = request.body;
      await api.changePassword(proofOf(request), { currentPassword, newPassword });
      return reply.send({ data: { message: 'Your password is changed. Your other sessions were signed out.' } });
    },
  );
};
