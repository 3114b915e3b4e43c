import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { identityInviteIntents } from '../../../entities/identity-invite.js';
import { allowOrigins } from '../browsers/cors.js';
import { errors } from '../surfaces/operation.js';
import { Body, InviteToken, Nullable, OneOf, single } from '../surfaces/schemas.js';
import type { IdentityAuthOptions } from './options.js';

const perIp = { name: 'identity-invite-info', points: 10, windowSeconds: 60 };

/** The token of a request; empty if the body, which is not validated yet, has none. */
export const sentToken = ({ body }: FastifyRequest): string => {
  const token = (body as { token?: unknown } | null | undefined)?.token;
  return typeof token === 'string' ? token : '';
};

export const inviteInfo: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { logins, limits }) => {
  allowOrigins(app, 'preValidation', (request) => logins.inviteAcceptance.pagesOf(sentToken(request)));
  app.post(
    '/invite-info',
    {
      config: { events: [] },
      preValidation: limits.exact(perIp),
      schema: {
        operationId: 'identityInviteInfo',
        summary: 'Get the details of an invite link',
        description:
          'No client is required: the link identifies the environment. Nothing is used up. An unknown, expired, accepted or ' +
          'revoked token is answered with the same 400.',
        tags: ['End-user authentication'],
        body: Body({ token: InviteToken }),
        response: {
          200: single(
            Type.Object({
              email: Type.String(),
              first_name: Nullable(Type.String()),
              last_name: Nullable(Type.String()),
              intent: OneOf(identityInviteIntents),
              application_name: Type.String(),
              environment_name: Nullable(Type.String({ description: 'Null if it leads only into the directory.' })),
              organization_name: Nullable(Type.String()),
              invited_by_name: Type.String({ description: 'The name of a person, or of the account.' }),
              asks_names: Type.Boolean({
                description: 'Whether nobody has a verified sign-in with this email address yet.',
              }),
              asks_password: Type.Boolean({ description: 'Whether `accept-invite` requires a password.' }),
              password_min_length: Type.Integer(),
            }),
          ),
          ...errors('validation.failed', 'invite.link_invalid', 'rate_limit.exceeded', 'service.unavailable'),
        },
      },
    },
    async ({ body }) => {
      const offered = await logins.inviteAcceptance.preview(body.token);
      return {
        data: {
          email: offered.email,
          first_name: offered.firstName,
          last_name: offered.lastName,
          intent: offered.intent,
          application_name: offered.applicationName,
          environment_name: offered.intent === 'directory' ? null : offered.environmentName,
          organization_name: offered.organizationName,
          invited_by_name: offered.inviter,
          asks_names: offered.asksNames,
          asks_password: offered.asksPassword,
          password_min_length: offered.settings.passwordMinLength,
        },
      };
    },
  );
};
