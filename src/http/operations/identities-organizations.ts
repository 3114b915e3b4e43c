import { Type } from 'typebox';
import type { OrganizationOfPerson } from '../../domain/organizations/of-person.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Id, listOf, OneOf, Resource, Timestamp } from '../surfaces/schemas.js';
import { ofOne, viewing } from './identities-views.js';

const OrganizationOfIdentity = Resource('IdentityOrganization', {
  id: Id,
  name: Type.String(),
  slug: Type.String(),
  status: OneOf(['active', 'inactive']),
  joined_at: Timestamp,
});

const present = ({ joinedAt, ...organization }: OrganizationOfPerson) => ({ ...organization, joined_at: joinedAt });

export const listIdentityOrganizations = operation({
  ...ofOne,
  ...viewing,
  id: 'listIdentityOrganizations',
  method: 'GET',
  path: '/identities/:id/organizations',
  summary: 'List the organizations of an identity',
  description:
    'Organizations of which the identity is a member, including inactive ones; `sort_by=created_at` sorts by when it ' +
    'became a member. Its roles there are among the `roles` of the identity, by `node_id`. `q` searches the name.',
  query: listQuery(['created_at', 'name', 'slug']),
  answers: { 200: listOf(OrganizationOfIdentity), ...errors('identity.not_found') },
  async handle({ services, scope, params, query: { sort_by: sortBy, ...page } }) {
    return paginated(await services.memberships.listOf(scope, params.id, { ...page, sortBy }), present);
  },
});
