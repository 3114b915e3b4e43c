import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdminSubject } from '../../domain/users/admin-tokens.js';
import { currentContext } from '../../platform/context.js';
import type { AdminPrincipals } from '../principals/admin.js';

/** Has the routes of a plugin ask for an admin's access token, before anything else is looked at. */
export function requireSignIn(app: FastifyInstance, admins: AdminPrincipals): void {
  app.decorateRequest('admin', null);
  app.addHook('onRequest', async (request, reply) => {
    request.admin = await admins.authenticate(request, reply);
    currentContext().actor = { type: 'platform_admin', id: request.admin.userId };
  });
}

/** Who calls a route that asks for it. */
export const subjectOf = ({ admin }: FastifyRequest): AdminSubject => admin as AdminSubject;

export const userOf = (request: FastifyRequest): string => subjectOf(request).userId;
