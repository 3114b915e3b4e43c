import { Type } from 'typebox';
import type { Claimant } from '../../domain/sso-domains/domains.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Id, listOf, single } from '../surfaces/schemas.js';
import { managed, ofOne, viewing } from './organization-views.js';
import {
  claimRefusals,
  Domain,
  howItIsClaimed,
  howItIsProved,
  NewSsoDomain,
  presentSsoDomain,
  SsoDomainsQuery,
  SsoDomainView,
  whatVerifyDoes,
} from './sso-domain-views.js';

interface Exists {
  services: Services;
  scope: EnvironmentScope;
  params: { id: string; domain: string };
}
const its = (scope: EnvironmentScope, organizationId: string): Claimant => ({ scope, organizationId });
const ofDomain = {
  ...ofOne,
  ...managed,
  params: Type.Object({ id: Id, domain: Domain }),
  exists: ({ services, scope, params }: Exists) => services.ssoDomains.get(its(scope, params.id), params.domain),
} as const;

export const listOrganizationDomains = operation({
  ...ofOne,
  ...managed,
  capability: viewing.capability,
  id: 'listOrganizationDomains',
  method: 'GET',
  path: '/organizations/:id/domains',
  summary: 'List the domain claims of an organization',
  description: '`q` searches the domain.',
  query: SsoDomainsQuery,
  answers: { 200: listOf(SsoDomainView), ...errors('organization.not_found') },
  handle: async ({ services, scope, params, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.ssoDomains.list(its(scope, params.id), { ...page, sortBy }), presentSsoDomain(services)),
});

export const claimOrganizationDomain = operation({
  ...ofOne,
  ...managed,
  id: 'claimOrganizationDomain',
  method: 'POST',
  path: '/organizations/:id/domains',
  summary: 'Claim a domain for an organization',
  description:
    `${howItIsProved} ${howItIsClaimed} Several organizations of an environment may claim a domain; the first to prove ` +
    'it gets it, and the claims of the others show that.',
  body: NewSsoDomain,
  events: ['sso.domain.claimed'],
  answers: { 201: single(SsoDomainView), ...errors('organization.not_found', ...claimRefusals) },
  handle: async ({ services, scope, caller, params, body }) => ({
    data: presentSsoDomain(services)(await services.ssoDomains.claim(its(scope, params.id), caller, body.domain)),
  }),
});

export const getOrganizationDomain = operation({
  ...ofDomain,
  capability: viewing.capability,
  id: 'getOrganizationDomain',
  method: 'GET',
  path: '/organizations/:id/domains/:domain',
  summary: 'Get a domain claim of an organization',
  description: 'Includes the TXT record that proves it, and the state of its verification.',
  answers: { 200: single(SsoDomainView), ...errors('organization.not_found', 'sso_domain.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentSsoDomain(services)(await services.ssoDomains.get(its(scope, params.id), params.domain)),
  }),
});

export const verifyOrganizationDomain = operation({
  ...ofDomain,
  id: 'verifyOrganizationDomain',
  method: 'POST',
  path: '/organizations/:id/domains/:domain/verify',
  summary: 'Verify a domain claim of an organization now',
  description: whatVerifyDoes,
  events: ['sso.domain.verified', 'sso.domain.failed', 'sso.domain.lapsed'],
  answers: {
    200: single(SsoDomainView),
    ...errors('organization.not_found', 'sso_domain.not_found', 'sso_domain.limit_reached'),
  },
  handle: async ({ services, scope, params }) => ({
    data: presentSsoDomain(services)(await services.ssoDomains.verify(its(scope, params.id), params.domain)),
  }),
});

export const deleteOrganizationDomain = operation({
  ...ofDomain,
  id: 'deleteOrganizationDomain',
  method: 'DELETE',
  path: '/organizations/:id/domains/:domain',
  summary: 'Delete a domain claim of an organization',
  description:
    'The claim stops verifying anything immediately, and another organization that proves the domain can have it.',
  events: ['sso.domain.deleted'],
  answers: { 204: Type.Null(), ...errors('organization.not_found', 'sso_domain.not_found') },
  handle: ({ services, scope, params }) => services.ssoDomains.remove(its(scope, params.id), params.domain),
});
