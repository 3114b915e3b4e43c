import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { adminAppOf } from '../../platform/admin-app.js';
import { SignOutRedirect, sendSignedOut } from '../browsers/provider-sign-out.js';
import { credentialsOf } from '../principals/credentials.js';
import { errors } from '../surfaces/operation.js';
import { single } from '../surfaces/schemas.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';

export const logout: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, sso, baseUrl } = options;
  const cookies = createAdminCookies(baseUrl);
  app.post(
    '/logout',
    {
      config: { events: ['auth.admin_signed_out'] },
      onRequest: sameOrigin(options),
      schema: {
        operationId: 'logout',
        summary: 'Sign out',
        description:
          'Revokes the session of the admin refresh cookie, of the bearer token, or of both, and clears both cookies. It is ' +
          'not an error if there is nothing to revoke. If the session was started through an SSO connection with single logout ' +
          '(`single_logout_enabled`), the response is 200 with the URL to which to send the browser, once and within ten minutes.',
        tags: ['Admin authentication'],
        response: {
          200: single(SignOutRedirect),
          204: Type.Null(),
          ...errors('principal.wrong_type', 'origin.foreign', 'service.unavailable'),
        },
      },
    },
    async (request, reply) => {
      cookies.clear(reply);
      const refreshToken = cookies.read(request);
      const left = refreshToken ? [await users.sessions.end({ refreshToken })] : [];
      const { bearer } = credentialsOf(request);
      const subject = bearer && (await users.tokens.read(bearer));
      if (subject) left.push(await users.sessions.end(subject));
      const redirectUri = adminAppOf(options);
      const onward = { redirectUri, homeUrl: null, clientId: null, uiLocales: null };
      const token = await sso.leaving.begin(
        left.filter((id) => id !== null),
        onward,
      );
      return sendSignedOut(reply, baseUrl, token);
    },
  );
};
