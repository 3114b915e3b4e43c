import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { allowOrigins } from '../browsers/cors.js';
import { acceptanceEvents } from '../event-lists/sign-in.js';
import { errors } from '../surfaces/operation.js';
import { Body, InviteToken, Message, Name, Nullable } from '../surfaces/schemas.js';
import { sentToken } from './invite-info.js';
import type { IdentityAuthOptions } from './options.js';

const perIp = { name: 'identity-accept-invite', points: 5, windowSeconds: 3600 };

export const acceptInvite: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { logins, limits }) => {
  allowOrigins(app, 'preValidation', (request) => logins.inviteAcceptance.pagesOf(sentToken(request)));
  app.post(
    '/accept-invite',
    {
      config: { events: acceptanceEvents },
      preValidation: limits.exact(perIp),
      schema: {
        operationId: 'identityAcceptInvite',
        summary: 'Accept an invite with the token of its link',
        description:
          'Marks the email address as confirmed. A new person becomes an identity with the names and the password in the ' +
          'request; names that are not sent are taken from the invite. The password is required if `invite-info` returns ' +
          '`asks_password`. A person who has a verified sign-in with the email address keeps all of it: the names and the ' +
          'password in the request are ignored. For an unverified one, the previous password and sessions end. Initial roles ' +
          'are assigned as decided when inviting, if they still exist. Does not start a session.',
        tags: ['End-user authentication'],
        body: Body({
          token: InviteToken,
          first_name: Type.Optional(Nullable(Name)),
          last_name: Type.Optional(Nullable(Name)),
          password: Type.Optional(
            Nullable(
              Type.String({
                maxLength: 1024,
                description:
                  'As long as the environment requires, in no known data breach, and more than a name or an address.',
              }),
            ),
          ),
        }),
        response: {
          200: Message,
          ...errors(
            'validation.failed',
            'invite.link_invalid',
            'password.breached',
            'password.context_specific',
            'identity.email_taken',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async ({ body: { token, first_name: firstName, last_name: lastName, password } }) => {
      const { placeName } = await logins.inviteAcceptance.accept({
        token,
        firstName: firstName?.trim(),
        lastName: lastName?.trim(),
        password: password ?? undefined,
      });
      return { data: { message: `You have accepted the invitation to ${placeName}.` } };
    },
  );
};
