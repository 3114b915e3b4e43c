import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { browserOf } from '../browsers/browser-of.js';
import { errors } from '../surfaces/operation.js';
import { Body, Id, single, TypedEmail } from '../surfaces/schemas.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { LoginOutcome, presentOutcome, presentSsoRequired } from './outcomes.js';

const perIp = { name: 'admin-login', points: 5, windowSeconds: 15 * 60 };

export const login: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (
  app,
  { users, limits, baseUrl, adminAppUrl },
) => {
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/login',
    {
      config: { events: ['auth.admin_signed_in', 'auth.admin_sign_in_failed', 'auth.admin_locked'], hashes: true },
      onRequest: [sameOrigin({ baseUrl, adminAppUrl }), limits.exact(perIp)],
      schema: {
        operationId: 'login',
        summary: 'Sign in with a password',
        description:
          'The result is in `outcome`. A user with a second factor is always asked for it first (`mfa_required`). A session ' +
          'comes with the admin refresh cookie and the session-marker cookie. Every failure gets the same response, after the ' +
          'same time, whether or not the email address is known: 401, or `sso_required` for every email address at a domain ' +
          'that an account has verified and for which it has an active connection for its administrators; there, an account ' +
          'that requires single sign-on gives it for the right password, too, which then counts as a failure. Ten failures for ' +
          'an email address in 15 minutes, or fifty in a day, from any network, block further attempts; a new password through ' +
          '`password/forgot` resets the count.',
        tags: ['Admin authentication'],
        body: Body({
          email: TypedEmail,
          password: Type.String({ maxLength: 1024 }),
          application_id: Type.Optional(Id),
        }),
        response: {
          200: single(LoginOutcome),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { email, password, application_id: applicationId } = request.body;
      const result = await users.signIn.signIn({ email, password, applicationId, ...browserOf(request) });
      if (result.outcome === 'sso_required')
        return reply.send({ data: presentSsoRequired(baseUrl, { email, applicationId }) });
      if ('refreshToken' in result) cookies.set(reply, result);
      return reply.send({ data: presentOutcome(result) });
    },
  );
};
