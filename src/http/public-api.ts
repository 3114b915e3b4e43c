import type { FastifyInstance } from 'fastify';
import type { Services } from '../services.js';
import { environmentOperations } from './environment-operations.js';
import type { PublicPrincipals } from './principals/public.js';
import { publicSurface } from './public-surface.js';
import { mount } from './surface.js';

/** What servers may do with an API key, and end users with their token. */
export function mountPublicApi(app: FastifyInstance, principals: PublicPrincipals, services: Services): void {
  const surface = publicSurface({ name: 'public', prefix: '/api/v1' }, principals, services);
  mount(app, surface, environmentOperations, services);
}
