import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { identityInviteIntents } from '../../../entities/identity-invite.js';
import { allowOrigins } from '../cors.js';
import { errors } from '../operation.js';
import { Body, Nullable, OneOf, single } from '../schemas.js';
import type { IdentityAuthOptions } from './options.js';

const perIp = { name: 'identity-invite-info', points: 10, windowSeconds: 60 };

/** The token of a mailed link. Whatever is wrong with one, the answer is the same. */
export const InviteToken = Type.String({ description: 'From the link in the mail.' });

/** The token, which whatever was sent may lack. */
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
        summary: 'Read whom the link of an invite is for, and where it leads',
        description:
          'Names no client: the link says which environment it is of. Nothing is consumed. An unknown, expired, accepted or ' +
          'revoked token is 400, each alike. 10 per minute per IP.',
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
              environment_name: Nullable(Type.String({ description: 'Null where it leads into the directory only.' })),
              organization_name: Nullable(Type.String()),
              invited_by_name: Type.String({ description: 'A person, or the account.' }),
              asks_names: Type.Boolean({ description: 'Nobody has a verified sign-in with this address yet.' }),
              asks_password: Type.Boolean({ description: '`accept-invite` requires a password.' }),
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
