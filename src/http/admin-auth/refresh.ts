import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { errors } from '../surfaces/operation.js';
import { single } from '../surfaces/schemas.js';
import { presentToken, TokenFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';

export const refresh: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, baseUrl, adminAppUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/refresh',
    {
      config: { events: ['session.refresh_reuse_detected'] },
      onRequest: sameOrigin({ baseUrl, adminAppUrl }),
      schema: {
        operationId: 'refresh',
        summary: 'Refresh the access token with the admin refresh cookie',
        description:
          'The cookie is replaced. If a cookie that was replaced more than ten seconds ago is sent again, the session ends.',
        tags: ['Admin authentication'],
        response: {
          200: single(Type.Object(TokenFields)),
          ...errors('auth.invalid_credentials', 'origin.foreign', 'service.unavailable'),
        },
      },
    },
    async (request, reply) => {
      const token = cookies.read(request);
      if (!token) throw new DomainError('auth.invalid_credentials');
      const session = await users.sessions.refresh(token).catch((error: unknown) => {
        if (error instanceof DomainError && error.code === 'auth.invalid_credentials') cookies.clear(reply);
        throw error;
      });
      cookies.set(reply, session);
      return reply.send({ data: presentToken(session) });
    },
  );
};
