import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errors } from '../surfaces/operation.js';
import { Body, InviteToken, single } from '../surfaces/schemas.js';
import type { AdminAuthOptions } from './options.js';

const perIp = { name: 'admin-invite-info', points: 10, windowSeconds: 60 };

export const inviteInfo: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits }) => {
  app.post(
    '/invite-info',
    {
      config: { events: [] },
      onRequest: limits.exact(perIp),
      schema: {
        operationId: 'inviteInfo',
        summary: 'Get the details of an invite link',
        description:
          'Nothing is used up. An unknown, expired, accepted or revoked token is answered with the same 400.',
        tags: ['Admin authentication'],
        body: Body({ token: InviteToken }),
        response: {
          200: single(
            Type.Object({
              email: Type.String(),
              first_name: Type.String(),
              last_name: Type.String(),
              sso_available: Type.Boolean({
                description:
                  'Whether an active admin SSO connection of the account covers the domain of the email address.',
              }),
            }),
          ),
          ...errors('validation.failed', 'invite.link_invalid', 'rate_limit.exceeded', 'service.unavailable'),
        },
      },
    },
    async ({ body }) => {
      const { email, firstName, lastName, ssoAvailable } = await users.invites.preview(body.token);
      return { data: { email, first_name: firstName, last_name: lastName, sso_available: ssoAvailable } };
    },
  );
};
