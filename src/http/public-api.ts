import type { FastifyInstance } from 'fastify';
import type { Permission } from '../domain/access/permissions.js';
import { holds } from '../domain/caller.js';
import { DomainError } from '../domain/errors.js';
import type { Services } from '../services.js';
import { denied } from './denials.js';
import { createApiKey, getApiKey, listApiKeys, updateApiKey } from './operations/api-keys.js';
import { createIdentity, getIdentityDetail, listIdentities } from './operations/identities.js';
import type { PublicPrincipals } from './principals/public.js';
import { mount, type Surface } from './surface.js';

/** What servers may do with an API key, and end users with their token. */
const operations = [
  listIdentities,
  createIdentity,
  getIdentityDetail,
  listApiKeys,
  createApiKey,
  getApiKey,
  updateApiKey,
];

export function mountPublicApi(app: FastifyInstance, principals: PublicPrincipals, services: Services): void {
  const surface: Surface = {
    name: 'public',
    pathOf: ({ path }) => `/api/v1${path}`,
    paramsOf: () => ({}),
    security: [{ apiKey: [] }, { bearer: [] }],
    describe: ({ permission }) => `Requires the permission \`${permission}\`.`,
    async authorize({ id, permission }, request, reply) {
      const authorized = await principals.authenticate(request, reply);
      if (!holds(authorized.caller, permission as Permission)) {
        throw await denied(services.db, authorized, id, new DomainError('api_key.scope_required'));
      }
      return authorized;
    },
  };
  mount(app, surface, operations, services);
}
