import { Type } from 'typebox';
import { managing } from '../../domain/organizations/strangers.js';
import { nodeRemovalEvents } from '../event-lists/node-removal.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { goesFar, listQuery, paginated } from '../surfaces/lists.js';
import { assertHoldsAt } from '../surfaces/node-rights.js';
import { at, atRoot, errors, operation, somewhere } from '../surfaces/operation.js';
import { Body, Description, Id, listOf, Name, Nullable, SentMetadata, Slug, single } from '../surfaces/schemas.js';
import { conflictAs } from '../surfaces/version-conflict.js';
import { placeFilters } from './node-views.js';
import { common, managed, OrganizationView, ofOne, presentOrganization, viewing } from './organization-views.js';
import { presentRole, RoleView } from './roles.js';

const placing = ['nodes.node_not_found', 'nodes.type_unknown', 'nodes.type_not_allowed', 'nodes.too_deep'] as const;
const conditional = ['organization.not_found', 'if_match.required', 'if_match.invalid'] as const;

export const listOrganizations = operation({
  ...common,
  id: 'listOrganizations',
  method: 'GET',
  path: '/organizations',
  summary: 'List organizations',
  description:
    'Returns the organizations that the caller may see, at any depth of the tree. `q` searches name and slug. The list ' +
    'is empty if the tree has no organizations.',
  permission: somewhere(...viewing.permissions),
  capability: viewing.capability,
  query: listQuery(['created_at', 'name', 'slug'], placeFilters),
  answers: { 200: listOf(OrganizationView) },
  isBroad: goesFar,
  async handle({ services, scope, caller, query: { sort_by: sortBy, parent_node_id: parentNodeId, ...page } }) {
    const view = await services.rights.reach(scope, caller, viewing);
    const visibility = { view, manage: [], activeOnly: caller.type === 'identity' };
    return paginated(
      await services.organizations.list(scope, visibility, { ...page, sortBy, parentNodeId }),
      presentOrganization,
    );
  },
});

export const createOrganization = operation({
  ...common,
  id: 'createOrganization',
  method: 'POST',
  path: '/organizations',
  summary: 'Create an organization',
  description:
    'Creates a node of type `organization` with the same ID, under `parent_node_id` or directly below the root without ' +
    'one; the permission is required there. The node-type schema defines where organizations are allowed, and with which ' +
    'metadata; an environment with the access model `flat` has none. Without a `slug`, one is derived from the name, ' +
    'with a short random suffix if a sibling has it. A new organization has no members.',
  permission: somewhere(...managing.permissions),
  capability: managing.capability,
  body: Body({
    name: Name,
    description: Type.Optional(Description),
    slug: Type.Optional(Nullable(Slug)),
    metadata: Type.Optional(SentMetadata),
    parent_node_id: Type.Optional(Nullable(Id)),
  }),
  events: ['organization.created', 'node.created'],
  answers: {
    201: single(OrganizationView),
    ...errors(...placing, 'nodes.not_in_access_model', 'organization.slug_taken', 'validation.failed'),
  },
  async handle({ body, ...context }) {
    const parentId = body.parent_node_id ?? null;
    await assertHoldsAt(context, managing, parentId);
    const made = await context.services.organizations.create(context.scope, {
      parentId,
      name: body.name.trim(),
      description: body.description ?? null,
      slug: body.slug ?? undefined,
      metadata: body.metadata ?? {},
    });
    return { data: presentOrganization(made) };
  },
});

export const deleteOrganizations = operation({
  tag: common.tag,
  level: common.level,
  id: 'deleteOrganizations',
  method: 'DELETE',
  path: '/organizations',
  summary: 'Delete all organizations',
  description:
    'Only in environments of type `development`. Repeat the slug of the environment in `confirm`: this cannot be undone. ' +
    'Everything below the organizations is deleted too: nodes, memberships, role assignments, and everything that ' +
    'belongs to the organizations, as when one is deleted. Identities stay. A large number is deleted in parts; if this ' +
    'is interrupted, the next request deletes what is left.',
  permission: atRoot(...managing.permissions),
  capability: managing.capability,
  query: Type.Object(
    { confirm: Type.Optional(Type.String({ description: 'Required: the slug of the environment.' })) },
    { additionalProperties: false },
  ),
  events: nodeRemovalEvents,
  answers: {
    204: Type.Null(),
    ...errors('organization.confirmation_required', 'organization.production_environment'),
  },
  handle: ({ services, scope, query }) => services.organizations.removeAll(scope, query.confirm),
});

export const getOrganization = operation({
  ...ofOne,
  id: 'getOrganization',
  method: 'GET',
  path: '/organizations/:id',
  summary: 'Get an organization',
  permission: at('id', viewing.permissions, 'organization.not_found'),
  capability: viewing.capability,
  answers: { 200: single(OrganizationView), ...errors('organization.not_found') },
  handle: async ({ services, scope, params }) => ({
    data: presentOrganization(await services.organizations.get(scope, params.id)),
  }),
});

export const updateOrganization = operation({
  ...ofOne,
  ...managed,
  id: 'updateOrganization',
  method: 'PATCH',
  path: '/organizations/:id',
  summary: 'Update an organization',
  description:
    '`metadata` is replaced as a whole. The version is that of the node: moving or deactivating it (see Hierarchy) ' +
    'changes the version too; changes of members and invitations do not.',
  ifMatch: 'required',
  body: Body({
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    slug: Type.Optional(Slug),
    metadata: Type.Optional(SentMetadata),
  }),
  events: ['organization.updated', 'node.updated'],
  answers: {
    200: single(OrganizationView),
    ...errors(...conditional, 'organization.slug_taken', 'validation.failed'),
  },
  async handle({ services, scope, params, version, body }) {
    const changes = definedOnly({ ...body, name: body.name?.trim() });
    const changing = services.organizations.change(scope, params.id, { version, changes });
    return { data: presentOrganization(await changing.catch(conflictAs(presentOrganization))) };
  },
});

export const deleteOrganization = operation({
  ...ofOne,
  ...managed,
  id: 'deleteOrganization',
  method: 'DELETE',
  path: '/organizations/:id',
  summary: 'Delete an organization',
  description:
    'With `cascade=true`, everything below it is deleted too; without it, the request is refused if there is anything. ' +
    'Role assignments, its SSO connection, domain claims, SCIM tokens and group mappings are deleted with it, and its ' +
    'pending invitations revoked, each with its own event; its memberships end without one. Everybody who is signed in ' +
    'through its connection is signed out. Its members stay in the environment.',
  retriedWithoutAccess: true,
  ifMatch: 'required',
  query: Type.Object({ cascade: Type.Optional(Type.Boolean({ default: false })) }, { additionalProperties: false }),
  events: nodeRemovalEvents,
  answers: { 204: Type.Null(), ...errors(...conditional, 'nodes.has_children') },
  async handle({ services, scope, params, query, version }) {
    const removing = services.organizations.remove(scope, params.id, { version, cascade: query.cascade ?? false });
    await removing.catch(conflictAs(presentOrganization));
  },
});

const seeing = {
  permissions: ['hierarchy.view', 'svc:organization.manage'],
  capability: viewing.capability,
} as const;

export const listOrganizationRoles = operation({
  ...ofOne,
  id: 'listOrganizationRoles',
  method: 'GET',
  path: '/organizations/:id/roles',
  summary: 'List the roles that can be assigned to members of an organization',
  description: 'Returns all active roles of the environment except system roles, by name.',
  permission: at('id', seeing.permissions, 'organization.not_found'),
  capability: seeing.capability,
  answers: { 200: Type.Object({ items: Type.Array(RoleView) }), ...errors('organization.not_found') },
  async handle({ services, scope, caller, params }) {
    await services.organizations.get(scope, params.id);
    const part = await services.rights.reach(scope, caller, seeing);
    return { items: (await services.roles.assignable(scope, part)).map(presentRole) };
  },
});
