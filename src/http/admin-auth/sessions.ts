import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import type { UserSession } from '../../../entities/user-session.js';
import type { AdminSubject } from '../../domain/users/admin-tokens.js';
import { listQuery, paginated, withTrimmedSearch } from '../surfaces/lists.js';
import { errors } from '../surfaces/operation.js';
import { ById, Id, listOf, Nullable, Resource, Timestamp } from '../surfaces/schemas.js';
import { Acr } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { subjectOf } from './signed-in.js';

const SessionView = Resource('AdministratorSession', {
  id: Id,
  current: Type.Boolean({ description: 'Whether it is the calling session.' }),
  created_at: Timestamp,
  last_used_at: Timestamp,
  ip_address: Nullable(Type.String()),
  user_agent: Nullable(Type.String()),
  authenticated_at: Timestamp,
  amr: Type.Array(Type.String(), { description: 'The authentication methods used (RFC 8176).' }),
  acr: Acr,
});

export const sessions: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, { users, baseUrl }) => {
  const cookies = createAdminCookies(baseUrl);
  app.get(
    '/sessions',
    {
      schema: {
        operationId: 'listSessions',
        summary: 'List your active sessions',
        description:
          '`q` searches the address and the user agent. A user who signed in through the identity provider of one account, and ' +
          "has others, sees the sessions that were started through that account's providers.",
        tags: ['Admin authentication'],
        security: [{ bearer: [] }],
        querystring: listQuery(['created_at', 'last_used_at']),
        response: {
          200: listOf(SessionView),
          ...errors('validation.failed', 'auth.invalid_credentials', 'principal.wrong_type', 'service.unavailable'),
        },
      },
    },
    async (request) => {
      const { sort_by: sortBy, ...page } = withTrimmedSearch(request.query);
      const subject = subjectOf(request);
      return paginated(await users.sessions.list(subject, { ...page, sortBy }), (row) => present(row, subject));
    },
  );

  app.delete(
    '/sessions/:id',
    {
      config: { events: ['auth.admin_session_revoked'] },
      schema: {
        operationId: 'revokeSession',
        summary: 'Revoke one of your sessions',
        description: 'Its tokens stop working immediately. Revoking the current session clears both cookies.',
        tags: ['Admin authentication'],
        security: [{ bearer: [] }],
        params: ById,
        response: {
          204: Type.Null(),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'principal.wrong_type',
            'session.not_found',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const subject = subjectOf(request);
      await users.sessions.revoke(subject, id);
      if (id === subject.sessionId) cookies.clear(reply);
      return reply.code(204).send(null);
    },
  );
};

const present = (session: UserSession, { sessionId }: AdminSubject) => ({
  id: session.id,
  current: session.id === sessionId,
  created_at: session.createdAt.toISOString(),
  last_used_at: session.lastUsedAt.toISOString(),
  ip_address: session.ipAddress,
  user_agent: session.userAgent,
  authenticated_at: session.authenticatedAt.toISOString(),
  amr: session.amr,
  acr: session.acr as Static<typeof Acr>,
});
