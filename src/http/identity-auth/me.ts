import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { errors } from '../surfaces/operation.js';
import { Id, NamedView, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';
import type { IdentityAuthOptions } from './options.js';
import { provenOf, subjectOf } from './signed-in.js';

const Me = Resource('SignedInIdentity', {
  identity: Type.Object({
    id: Id,
    email: Type.String(),
    email_verified: Type.Boolean(),
    first_name: Nullable(Type.String()),
    last_name: Nullable(Type.String()),
    avatar_url: Nullable(Type.String()),
    has_password: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
  application: NamedView,
  environment: Type.Object({ ...NamedView.properties, type: Type.String() }),
  session: Type.Object({
    id: Id,
    authenticated_at: Timestamp,
    amr: Type.Array(Type.String(), { description: 'RFC 8176' }),
    acr: Type.String(),
    created_at: Timestamp,
  }),
});

export const me: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (app, { api }) => {
  app.get(
    '/me',
    {
      schema: {
        operationId: 'identityMe',
        description:
          "With an end user's access token: the person, the application, the environment and the session, as they are now.",
        summary: 'Get the signed-in person',
        tags: ['End-user authentication'],
        security: [{ bearer: [] }],
        response: {
          200: single(Me),
          ...errors('auth.invalid_credentials', 'principal.wrong_type', 'rate_limit.exceeded', 'service.unavailable'),
        },
      },
    },
    async (request, reply) => {
      const subject = subjectOf(provenOf(request));
      const profile = await api.profile(subject);
      if (!profile) throw new DomainError('auth.invalid_credentials'); // the session has ended since it was checked
      const { session, application, environment, ...identity } = profile;
      return reply.send({
        data: {
          identity: {
            id: identity.id,
            email: identity.email,
            email_verified: identity.isVerified,
            first_name: identity.firstName,
            last_name: identity.lastName,
            avatar_url: identity.avatarUrl,
            has_password: identity.hasPassword,
            created_at: identity.createdAt.toISOString(),
            updated_at: identity.updatedAt.toISOString(),
          },
          application,
          environment,
          session: {
            id: subject.sessionId,
            authenticated_at: session.authenticatedAt.toISOString(),
            amr: session.amr,
            acr: session.acr,
            created_at: session.createdAt.toISOString(),
          },
        },
      });
    },
  );
};
