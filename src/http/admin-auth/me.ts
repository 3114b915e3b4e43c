import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import type { AdminSubject } from '../../domain/users/admin-tokens.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { errors } from '../surfaces/operation.js';
import { Body, Id, Name, NamedView, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { Acr, presentNamed } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf } from './signed-in.js';

const Role = Resource('HeldRole', { role_id: Id, name: Type.String(), system_key: Nullable(Type.String()) });
const Me = Resource('SignedInAdministrator', {
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
    amr: Type.Array(Type.String(), { description: 'The authentication methods used (RFC 8176).' }),
    acr: Acr,
  }),
  accounts: Type.Array(
    Resource('AdministeredAccount', {
      ...NamedView.properties,
      require_mfa: Type.Boolean({ description: 'Whether the account admits only sessions with a second factor.' }),
      require_sso: Type.Boolean({
        description:
          'Whether the account admits administrators, except Owners, only through its own identity provider.',
      }),
      sso_required: Type.Boolean({
        description: 'Whether it is closed to this session because of that: sign in through `sso/start`.',
      }),
      roles: Type.Array(Role),
    }),
  ),
  account: Nullable(NamedView),
  application: Nullable(NamedView),
});

const common = { tags: ['Admin authentication'], security: [{ bearer: [] }] };
const ofDeletion = ['account.other_sign_in_required', 'auth.reauthentication_required', 'member.last_owner'] as const;
const refusals = ['auth.invalid_credentials', 'principal.wrong_type', 'service.unavailable'] as const;

export const me: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, baseUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  const read = async (subject: AdminSubject) => ({ data: await present(users, subject) });

  app.get(
    '/me',
    {
      schema: {
        ...common,
        operationId: 'me',
        summary: 'Get the signed-in user',
        description:
          'Returns the user, their accounts with their roles there, how the session was authenticated, and what it is bound to.',
        response: { 200: single(Me), ...errors(...refusals) },
      },
    },
    async (request, reply) => reply.send(await read(subjectOf(request))),
  );

  app.patch(
    '/me',
    {
      config: { events: ['auth.admin_updated'] },
      schema: {
        ...common,
        operationId: 'updateMe',
        summary: 'Change your name',
        description:
          'The name is shown to the other administrators of all accounts of the user, and in emails. A session through an ' +
          "account's identity provider that is not accepted by another account of the user cannot change it: " +
          '`account.other_sign_in_required`.',
        body: Body({ first_name: Type.Optional(Name), last_name: Type.Optional(Name) }),
        response: { 200: single(Me), ...errors('validation.failed', 'account.other_sign_in_required', ...refusals) },
      },
    },
    async (request, reply) => {
      const { first_name, last_name } = request.body;
      const changes = definedOnly({ firstName: first_name?.trim(), lastName: last_name?.trim() });
      await users.rename(subjectOf(request), changes);
      return reply.send(await read(subjectOf(request)));
    },
  );

  app.delete(
    '/me',
    {
      config: { events: ['auth.admin_deleted', 'member.removed'] },
      schema: {
        ...common,
        operationId: 'deleteMe',
        summary: 'Delete your sign-in',
        description:
          'Leaves every account, and deletes the user with their password, second factors and sessions; their email address ' +
          'can register again. This cannot be undone, and requires a sign-in within the last ten minutes, with a second factor ' +
          'if there is one. The last Owner of an account must make somebody else an Owner first: `details` name the slug of ' +
          'the account. Audit logs keep what the user did, without a name.',
        response: {
          204: Type.Null(),
          ...errors(...ofDeletion, ...refusals),
        },
      },
    },
    async (request, reply) => {
      await users.delete(subjectOf(request));
      cookies.clear(reply);
      return reply.code(204).send(null);
    },
  );
};

async function present(users: Pick<AdminAuthOptions['users'], 'profile'>, subject: AdminSubject) {
  const profile = await users.profile(subject);
  if (!profile) throw new DomainError('auth.invalid_credentials'); // the session has ended since it was checked
  const { user, session, accounts, account, application } = profile;
  return {
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
    accounts: accounts.map(({ requireMfa, requireSso, ssoRequired, roles, ...named }) => ({
      ...presentNamed(named),
      require_mfa: requireMfa,
      require_sso: requireSso,
      sso_required: ssoRequired,
      roles,
    })),
    account: account && presentNamed(account),
    application,
  };
}
