import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdminSubject } from '../../domain/users/admin-tokens.js';
import { currentContext } from '../../platform/context.js';
import type { AdminPrincipals } from '../principals/admin.js';
import { proving } from '../surfaces/proofs.js';

declare module 'fastify' {
  interface FastifyRequest {
    admin: AdminSubject | null;
  }
}

/** Makes a plugin's routes require an admin's access token, before anything else is checked. */
export function requireSignIn(app: FastifyInstance, admins: AdminPrincipals): void {
  app.decorateRequest('admin', null);
  const prove = proving(async (request, reply) => {
    request.admin = await admins.authenticate(request, reply);
    currentContext().actor = { type: 'platform_admin', id: request.admin.userId };
  });
  app.addHook('onRequest', prove);
}

/** The caller of a route that requires a sign-in. */
export const subjectOf = ({ admin }: FastifyRequest): AdminSubject => admin as AdminSubject;

export const userOf = (request: FastifyRequest): string => subjectOf(request).userId;
