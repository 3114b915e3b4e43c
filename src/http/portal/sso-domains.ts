import { Type } from 'typebox';
import type { Claimant } from '../../domain/sso-domains/domains.js';
import type { AccountScope } from '../../platform/scope.js';
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
} from '../operations/sso-domain-views.js';
import { paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { listOf, single } from '../surfaces/schemas.js';

const common = { tag: 'SSO domains', level: 'account' } as const;
const one = { ...common, params: Type.Object({ domain: Domain }) } as const;
const own = (scope: AccountScope): Claimant => ({ scope, organizationId: null });

export const listSsoDomains = operation({
  ...common,
  id: 'listSsoDomains',
  method: 'GET',
  path: '/sso/domains',
  summary: 'List the domain claims of the account',
  description: '`q` searches the domain. Claims of organizations are listed under the organizations.',
  capability: 'sso.view',
  query: SsoDomainsQuery,
  answers: { 200: listOf(SsoDomainView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.ssoDomains.list(own(scope), { ...page, sortBy }), presentSsoDomain(services)),
});

export const claimSsoDomain = operation({
  ...common,
  id: 'claimSsoDomain',
  method: 'POST',
  path: '/sso/domains',
  summary: 'Claim a domain for the account',
  description:
    `${howItIsProved} ${howItIsClaimed} Several accounts may claim a domain; the first to prove it gets it, and the ` +
    'claims of the others show that.',
  capability: 'sso.manage',
  body: NewSsoDomain,
  events: ['sso.domain.claimed'],
  answers: { 201: single(SsoDomainView), ...errors(...claimRefusals) },
  handle: async ({ services, scope, caller, body }) => ({
    data: presentSsoDomain(services)(await services.ssoDomains.claim(own(scope), caller, body.domain)),
  }),
});

export const getSsoDomain = operation({
  ...one,
  id: 'getSsoDomain',
  method: 'GET',
  path: '/sso/domains/:domain',
  summary: 'Get a domain claim of the account',
  capability: 'sso.view',
  answers: { 200: single(SsoDomainView), ...errors('sso_domain.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentSsoDomain(services)(await services.ssoDomains.get(own(scope), params.domain)),
  }),
});

export const verifySsoDomain = operation({
  ...one,
  id: 'verifySsoDomain',
  method: 'POST',
  path: '/sso/domains/:domain/verify',
  summary: 'Verify a domain claim of the account now',
  description: whatVerifyDoes,
  capability: 'sso.manage',
  exists: ({ services, scope, params }) => services.ssoDomains.get(own(scope), params.domain),
  events: ['sso.domain.verified', 'sso.domain.failed', 'sso.domain.lapsed'],
  answers: { 200: single(SsoDomainView), ...errors('sso_domain.not_found', 'sso_domain.limit_reached') },
  handle: async ({ services, scope, params }) => ({
    data: presentSsoDomain(services)(await services.ssoDomains.verify(own(scope), params.domain)),
  }),
});

export const deleteSsoDomain = operation({
  ...one,
  id: 'deleteSsoDomain',
  method: 'DELETE',
  path: '/sso/domains/:domain',
  summary: 'Delete a domain claim of the account',
  description:
    'The claim stops verifying anything immediately, and another account that proves the domain can have it.',
  capability: 'sso.manage',
  exists: ({ services, scope, params }) => services.ssoDomains.get(own(scope), params.domain),
  events: ['sso.domain.deleted'],
  answers: { 204: Type.Null(), ...errors('sso_domain.not_found') },
  handle: ({ services, scope, params }) => services.ssoDomains.remove(own(scope), params.domain),
});
