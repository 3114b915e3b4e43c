import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { adminAppOf } from '../../platform/admin-app.js';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, InviteToken, Message, Name } from '../surfaces/schemas.js';
import { acceptInviteError, sendInvitePage } from './accept-invite-page.js';
import { Html } from './answers.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { isForm, sendAdminPage } from './pages.js';

const perIp = { name: 'admin-accept-invite', points: 5, windowSeconds: 3600 };
const tags = ['Admin authentication'];

const Acceptance = Body({
  token: InviteToken,
  first_name: Name,
  last_name: Name,
  password: Type.Optional(
    Type.String({ maxLength: 1024, description: '8 to 128 characters, in no known data breach.' }),
  ),
});

/** The link of an invite. Opening it shows a form; only submitting that uses the link, so mail scanners cannot. */
export const acceptInvite: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, limits, ...pages }) => {
  app.setErrorHandler(acceptInviteError(users.invites, pages));

  app.get(
    '/accept-invite',
    {
      schema: {
        operationId: 'acceptInvitePage',
        summary: 'Show the form of an invite link',
        description: 'Asks for what is missing: names, a password. Nothing is used up.',
        tags,
        querystring: Type.Object({ token: Type.String() }),
        response: { 200: { description: 'The page', ...Html }, ...errors('invite.link_invalid') },
      },
    },
    async (request, reply) => {
      const { token } = request.query;
      return sendInvitePage(request, reply, { token, invite: await users.invites.preview(token), error: null });
    },
  );

  app.post(
    '/accept-invite',
    {
      config: {
        events: ['administrator_invite.accepted', 'member.added', 'auth.password_set', 'auth.registration_discarded'],
      },
      onRequest: [sameOrigin(pages), limits.exact(perIp)],
      schema: {
        operationId: 'acceptInvite',
        summary: 'Accept an invite to administer an account',
        description:
          'Creates the user as verified, or verifies an unverified user with the names and the password in the request. A ' +
          'verified user does not change: the names and the password in the request are ignored and not required, unless the ' +
          'user has no password yet: setting the first one ends their sessions, and they are notified by email. In all other ' +
          'cases a password is required, unless admin SSO covers the email address. Does not start a session. JSON is answered ' +
          'with JSON; a form, even if sent twice within a minute, with a page.',
        tags,
        body: Acceptance,
        response: {
          200: {
            description: 'A message, or the page for a form',
            content: { 'application/json': { schema: Message }, ...Html.content },
          },
          ...errors(
            'validation.failed',
            'invite.link_invalid',
            'password.breached',
            'password.context_specific',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { token, first_name: firstName, last_name: lastName, password } = request.body;
      const names = { firstName: firstName.trim(), lastName: lastName.trim() };
      const { accountName } = await users.invites.accept({
        token,
        ...names,
        ...(password !== undefined && { password }),
      });
      if (isForm(request))
        return sendAdminPage(
          reply,
          'invite-accepted',
          { accountName, nextUrl: adminAppOf(pages) },
          browserLocaleOf(request),
        );
      return reply.send({ data: { message: 'You are now an administrator of the account. Sign in to continue.' } });
    },
  );
};
