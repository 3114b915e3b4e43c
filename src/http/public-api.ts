import type { FastifyInstance } from 'fastify';
import type { Provider } from '../domain/oidc/provider.js';
import type { Services } from '../services.js';
import { allowOrigins, answerPreflightsBelow, clientOfToken } from './browsers/cors.js';
import type { PublicPrincipals } from './principals/public.js';
import { environmentOperations } from './surfaces/environment-operations.js';
import { mount } from './surfaces/mount.js';
import { publicSurface } from './surfaces/public-surface.js';

/**
 * Mounts the API for servers with an API key and for end users with their token. A token may be sent by a server, or by
 * scripts of the client that it was issued to. No script can read the answer to an API key.
 */
export function mountPublicApi(
  app: FastifyInstance,
  { principals, provider, services }: { principals: PublicPrincipals; provider: Provider; services: Services },
): void {
  allowOrigins(app, 'onRequest', (request) => clientOfToken(provider, request));
  answerPreflightsBelow(app, '/api/v1');
  const surface = publicSurface({ name: 'public', prefix: '/api/v1' }, principals, services);
  mount(app, surface, environmentOperations, services);
}
