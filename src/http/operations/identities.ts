import { Type } from 'typebox';
import type { Caller } from '../../domain/caller.js';
import { invalidField } from '../../domain/errors.js';
import { addressTyped } from '../../domain/logins/address.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { uuidPattern } from '../../platform/uuid.js';
import type { Services } from '../../services.js';
import { identityRemovalEvents } from '../event-lists/identity-removal.js';
import { joiningEvents } from '../event-lists/joining.js';
import { always, goesFar, listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, listOf, OneOf, single } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';
import {
  Address,
  changing,
  detailAfter,
  detailOf,
  IdentityDetail,
  IdentityRow,
  mayChange,
  NewIdentityFields,
  newIdentityOf,
  ofOne,
  presentRow,
  viewing,
} from './identities-views.js';
import { ProfileFields, profileIn } from './identity-profile.js';
import { IdentityRowWithRoles, personSorts, rowWithRoles } from './identity-rows.js';

const Status = Type.Optional(OneOf(['active', 'inactive']));
const isActiveOf = (status: string | undefined) => (status === undefined ? undefined : status === 'active');

export const listIdentities = operation({
  ...viewing,
  id: 'listIdentities',
  method: 'GET',
  path: '/identities',
  summary: 'List identities',
  description:
    'Returns profile data only: no credentials and no assignments. `external_id` finds the identity with that ID in the ' +
    'application, and `email` the one with that email address. `q` searches first name, last name and email; a search ' +
    'with more than 100 000 matches is refused, and so is one without three consecutive letters or digits if there are ' +
    'more members than that. Without `status`, deactivated identities are included, with `is_active` false. ' +
    '`sort_by=created_at` sorts by when the identity joined this environment: for one that was in another environment of ' +
    'the account before, that is later than its `created_at`.',
  tag: 'Identities',
  level: 'environment',
  query: listQuery(personSorts, {
    status: Status,
    external_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Exact match.' })),
    email: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 254,
        description: 'Exact match, regardless of case.',
      }),
    ),
  }),
  answers: { 200: listOf(IdentityRow) },
  isBroad: goesFar,
  async handle({
    services,
    scope,
    query: { sort_by: sortBy, status, external_id: externalId, email: typed, ...page },
  }) {
    const email = typed && addressTyped(typed);
    const meant = { ...page, sortBy, isActive: isActiveOf(status), externalId, email };
    return paginated(await services.identities.list(scope, meant), presentRow);
  },
});

export const listIdentitiesWithRoles = operation({
  ...viewing,
  id: 'listIdentitiesWithRoles',
  method: 'GET',
  path: '/identities/with-roles',
  summary: 'List identities with their roles',
  description:
    'Roles are those held now or in the future. `role_id` returns only identities with that role, `no_assignment` only ' +
    'those without a role. `q` searches as in the list of identities.',
  tag: 'Identities',
  level: 'environment',
  query: listQuery(personSorts, {
    status: Status,
    role_id: Type.Optional(
      Type.String({
        pattern: worded(`^(no_assignment|${uuidPattern})$`, 'must be a UUID or `no_assignment`'),
        description: 'The ID of a role, or `no_assignment`.',
      }),
    ),
  }),
  answers: { 200: listOf(IdentityRowWithRoles) },
  isBroad: always,
  async handle({ services, scope, query: { sort_by: sortBy, status, role_id, ...page } }) {
    const filters = { isActive: isActiveOf(status), roleId: role_id === 'no_assignment' ? null : role_id };
    return paginated(await services.identities.listWithRoles(scope, { ...page, ...filters, sortBy }), rowWithRoles);
  },
});

export const createIdentity = operation({
  ...changing,
  id: 'createIdentity',
  method: 'POST',
  path: '/identities',
  summary: 'Create an identity',
  description:
    "If the email address is already in the account's directory, that identity becomes a member of this environment and " +
    'keeps its profile and password. `role_id` is assigned at `node_id`, or at the root without one; this requires ' +
    '`rbac.assign_roles` and every permission of the role there. The email address of a deleted identity remains taken ' +
    'while the identity is being erased; the error then has the detail `being_deleted`, and the response a `Retry-After`.',
  tag: 'Identities',
  level: 'environment',
  body: Body(NewIdentityFields),
  events: [...joiningEvents, 'identity.deactivated', 'role_assignment.created'],
  answers: {
    201: single(IdentityDetail),
    ...errors(
      'identity.email_taken',
      'identity.external_id_taken',
      'password.breached',
      'password.context_specific',
      'validation.failed',
      'role.cannot_grant',
      'role.not_found',
      'nodes.node_not_found',
    ),
  },
  handle({ body, ...asking }) {
    const { services, scope, caller } = asking;
    const role = initialRole(services, scope, caller, body);
    return detailAfter(asking, () => services.identities.create(scope, newIdentityOf(body), role));
  },
});

export const getIdentity = operation({
  ...ofOne,
  ...viewing,
  id: 'getIdentity',
  method: 'GET',
  path: '/identities/:id',
  summary: 'Get an identity',
  answers: { 200: single(IdentityDetail), ...errors('identity.not_found') },
  handle: ({ params, ...asking }) => detailOf(asking, params.id),
});

export const getIdentityDetail = operation({
  ...ofOne,
  ...viewing,
  id: 'getIdentityDetail',
  method: 'GET',
  path: '/identities/:id/detail',
  summary: 'Get an identity in detail',
  answers: { 200: single(IdentityDetail), ...errors('identity.not_found') },
  handle: ({ params, ...asking }) => detailOf(asking, params.id),
});

export const updateIdentity = operation({
  ...ofOne,
  ...changing,
  id: 'updateIdentity',
  method: 'PATCH',
  path: '/identities/:id',
  summary: 'Update an identity',
  description:
    'The profile is shared by all environments of the account; that of a member of a production environment cannot be ' +
    'changed from a development one. A new email address is unverified unless `email_verified` says otherwise, and links ' +
    'and codes emailed to the previous one stop working. So do links if `email_verified` becomes false. `metadata` is replaced ' +
    'as a whole. End users who change their own email address or `external_id` need a sign-in within the last ten minutes, ' +
    'with a second factor if they have one.',
  body: Body({
    email: Type.Optional(Address),
    ...ProfileFields,
    email_verified: Type.Optional(Type.Boolean()),
  }),
  events: ['identity.updated', 'identity.email_verified'],
  answers: {
    200: single(IdentityDetail),
    ...errors(
      'auth.reauthentication_required',
      'identity.not_found',
      'identity.holds_more',
      'identity.in_production',
      'identity.email_taken',
      'identity.external_id_taken',
      'validation.failed',
    ),
  },
  handle({ params: { id }, body, ...asking }) {
    const { services, scope, caller } = asking;
    // The developers' system knows a person by the external id, so it opens what they have there. An API key belongs to
    // that system, and may change it.
    const isRenamed = body.external_id !== undefined && caller.type === 'identity';
    const may = mayChange(asking, id, { takesOver: body.email !== undefined || isRenamed });
    const changes = { ...profileIn(body), email: body.email, emailVerified: body.email_verified };
    return detailAfter(asking, () => services.identityAdministration.change(scope, id, changes, may));
  },
});

export const deleteIdentity = operation({
  ...ofOne,
  ...changing,
  id: 'deleteIdentity',
  method: 'DELETE',
  path: '/identities/:id',
  summary: 'Delete an identity',
  description:
    'Ends the membership in this environment immediately, with its sessions and role assignments. An identity without ' +
    'any membership left in the account is erased.',
  events: identityRemovalEvents,
  answers: { 204: Type.Null(), ...errors('identity.not_found') },
  handle: ({ services, scope, params }) => services.identityAdministration.remove(scope, params.id),
});

function initialRole(
  services: Services,
  scope: EnvironmentScope,
  caller: Caller,
  { role_id: roleId, node_id }: { role_id?: string | null; node_id?: string | null },
) {
  const nodeId = node_id ?? null;
  if (roleId) return services.assignments.forNewcomer(scope, caller, { roleId, nodeId });
  if (nodeId !== null) throw invalidField('node_id', 'without_role', 'needs a `role_id`');
  return undefined;
}
