import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { errors } from '../operation.js';
import { Id, Nullable, single, Timestamp } from '../schemas.js';
import { Acr, NamedView, presentNamed } from './answers.js';
import type { AdminAuthOptions } from './options.js';

const Role = Type.Object({ role_id: Id, name: Type.String(), system_key: Nullable(Type.String()) });
const Me = Type.Object({
  user: Type.Object({
    id: Id,
    email: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    email_verified: Type.Boolean(),
    created_at: Timestamp,
  }),
  session: Type.Object({
    authenticated_at: Timestamp,
    amr: Type.Array(Type.String(), { description: 'How it was proved (RFC 8176).' }),
    acr: Acr,
  }),
  accounts: Type.Array(
    Type.Object({
      ...NamedView.properties,
      require_mfa: Type.Boolean({ description: 'Whether it lets only sessions with a second factor in.' }),
      roles: Type.Array(Role),
    }),
  ),
  account: Nullable(NamedView),
  application: Nullable(NamedView),
});

export const me: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, admins }) => {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'me',
        summary: 'Read who is signed in',
        description:
          'The user, their accounts with their roles there, how the session was proved and what it is bound to.',
        tags: ['Admin authentication'],
        security: [{ bearer: [] }],
        response: {
          200: single(Me),
          ...errors('auth.invalid_credentials', 'principal.wrong_type', 'service.unavailable'),
        },
      },
    },
    async (request, reply) => {
      const profile = await users.profile(await admins.authenticate(request, reply));
      if (!profile) throw new DomainError('auth.invalid_credentials'); // gone since it was proved alive
      const { user, session, accounts, account, application } = profile;
      return reply.send({
        data: {
          user: {
            id: user.id,
            email: user.email,
            first_name: user.firstName,
            last_name: user.lastName,
            email_verified: user.emailVerified,
            created_at: user.createdAt.toISOString(),
          },
          session: {
            authenticated_at: session.authenticatedAt.toISOString(),
            amr: session.amr,
            acr: session.acr as Static<typeof Acr>,
          },
          accounts: accounts.map(({ requireMfa, roles, ...named }) => ({
            ...presentNamed(named),
            require_mfa: requireMfa,
            roles,
          })),
          account: account && presentNamed(account),
          application,
        },
      });
    },
  );
};
