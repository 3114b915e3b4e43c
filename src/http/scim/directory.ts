import type { FastifyRequest } from 'fastify';
import type { AuthenticatedDirectory } from '../../domain/scim/authenticate.js';

declare module 'fastify' {
  interface FastifyRequest {
    directory: AuthenticatedDirectory | null;
  }
}

/** The directory that has sent a request; it is proved before any handler runs. */
export const directoryOf = ({ directory }: Pick<FastifyRequest, 'directory'>): AuthenticatedDirectory =>
  directory as AuthenticatedDirectory;
