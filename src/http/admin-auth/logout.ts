import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errors } from '../operation.js';
import { credentialsOf } from '../principals/credentials.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';

export const logout: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, baseUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/logout',
    {
      config: { events: ['auth.admin_signed_out'] },
      onRequest: sameOrigin(baseUrl),
      schema: {
        operationId: 'logout',
        summary: 'Sign out',
        description:
          'Revokes the session of the admin refresh cookie, of the bearer token, or of both, and clears both cookies. Nothing to revoke is no error.',
        tags: ['Admin authentication'],
        response: { 204: Type.Null(), ...errors('principal.wrong_type', 'origin.foreign', 'service.unavailable') },
      },
    },
    async (request, reply) => {
      cookies.clear(reply);
      const refreshToken = cookies.read(request);
      if (refreshToken) await users.sessions.end({ refreshToken });
      const { bearer } = credentialsOf(request);
      const subject = bearer && (await users.tokens.read(bearer));
      if (subject) await users.sessions.end(subject);
      return reply.code(204).send(null);
    },
  );
};
