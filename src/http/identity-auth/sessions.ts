import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { ShownSession } from '../../domain/logins/api-sessions.js';
import type { SignedInPerson } from '../../domain/sessions/signed-in-person.js';
import { listQuery, paginated, withTrimmedSearch } from '../surfaces/lists.js';
import { errors } from '../surfaces/operation.js';
import { ById, Id, listOf, Nullable, Resource, SessionEnd, Timestamp } from '../surfaces/schemas.js';
import type { IdentityAuthOptions } from './options.js';
import { proofOf, provenOf, subjectOf } from './signed-in.js';

const SessionView = Resource('OwnSession', {
  id: Id,
  current: Type.Boolean({ description: 'Whether it is the calling session.' }),
  authenticated_at: Timestamp,
  created_at: Timestamp,
  expires_at: SessionEnd,
  ip_address: Nullable(Type.String()),
  user_agent: Nullable(Type.String()),
});

export const sessions: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.get(
    '/sessions',
    {
      schema: {
        operationId: 'identityListSessions',
        summary: 'List your sessions',
        description:
          'Sessions in this environment, however they were started. A session that has ended is listed while a client still ' +
          'holds tokens issued from it. `q` searches the address and the user agent.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        querystring: listQuery(['created_at', 'authenticated_at']),
        response: {
          200: listOf(SessionView),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'principal.wrong_type',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request) => {
      const subject = subjectOf(provenOf(request));
      const { sort_by: sortBy, ...page } = withTrimmedSearch(request.query);
      return paginated(await api.sessions.list(subject, { ...page, sortBy }), (row) => present(row, subject));
    },
  );

  app.delete(
    '/sessions/:id',
    {
      config: { events: ['identity.sessions_revoked', 'auth.identity_signed_out'] },
      schema: {
        operationId: 'identityRevokeSession',
        summary: 'End one of your sessions',
        description:
          'Ends it immediately, with everything that was issued in it. If the environment has ' +
          '`session_end_require_recent_sign_in`, ending a session other than the calling one requires a sign-in within the ' +
          'last ten minutes, with a second factor if the person has one that the environment allows.',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        params: ById,
        response: {
          204: Type.Null(),
          ...errors(
            'validation.failed',
            'auth.invalid_credentials',
            'auth.reauthentication_required',
            'principal.wrong_type',
            'session.not_found',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const [subject, { id }] = [proofOf(request), request.params];
      await api.own.assertMayEnd(subject, id);
      await api.sessions.revoke(subject, id);
      return reply.code(204).send(null);
    },
  );
};

const present = (session: ShownSession, { sessionId }: SignedInPerson) => ({
  id: session.id,
  current: session.id === sessionId,
  authenticated_at: session.authenticatedAt.toISOString(),
  created_at: session.createdAt.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  ip_address: session.ipAddress,
  user_agent: session.userAgent,
});
