import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { cannotGrant } from '../../domain/forbidden.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { movingOutEvents, nodeRemovalEvents } from '../event-lists/node-removal.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { goesFar, listQuery, paginated } from '../surfaces/lists.js';
import { assertHoldsAt } from '../surfaces/node-rights.js';
import { at, errors, operation, somewhere } from '../surfaces/operation.js';
import {
  Body,
  ById,
  Description,
  Id,
  listOf,
  Name,
  Nullable,
  SentMetadata,
  Slug,
  single,
} from '../surfaces/schemas.js';
import { conflictAs } from '../surfaces/version-conflict.js';
import {
  everything,
  managing,
  NodeStatuses,
  NodeView,
  placeFilters,
  presentNode,
  presentVisibleNode,
  VisibleNodeSchema,
  visibilityOf,
} from './node-views.js';

const common = { tag: 'Hierarchy', level: 'environment', inPart: true } as const;
const placing = [
  'nodes.type_unknown',
  'nodes.type_not_allowed',
  'nodes.too_deep',
  'nodes.slug_taken',
  'nodes.node_not_found',
  'validation.failed',
] as const;

const sorts = ['created_at', 'name', 'slug'] as const;
const filters = {
  node_type: Type.Optional(Type.String({ maxLength: 64 })),
  status: Type.Optional(NodeStatuses),
};
/** The list parameters of nodes whose place the path already names. */
export const nodeQuery = () => listQuery(sorts, filters);

export const listNodes = operation({
  ...common,
  id: 'listNodes',
  method: 'GET',
  path: '/nodes',
  summary: 'List nodes',
  description: 'Returns the nodes that the caller may see, including the root. `q` searches name and slug.',
  permission: somewhere('hierarchy.view'),
  capability: 'env_structure.view',
  query: listQuery(sorts, { ...filters, ...placeFilters }),
  answers: { 200: listOf(VisibleNodeSchema) },
  isBroad: goesFar,
  async handle({ query: { sort_by: sortBy, node_type: nodeType, parent_node_id: parentNodeId, ...page }, ...context }) {
    const visibility = await visibilityOf(context);
    const meant = { ...page, sortBy, nodeType, parentNodeId };
    return paginated(await context.services.hierarchy.list(context.scope, visibility, meant), presentVisibleNode);
  },
});

export const createNode = operation({
  ...common,
  id: 'createNode',
  method: 'POST',
  path: '/nodes',
  summary: 'Create a node',
  description:
    'Creates it under `parent_node_id`, or directly below the root without one; the permission is required there. The ' +
    'node-type schema defines which types are allowed there, how deep, and with which metadata. Without a `slug`, one is ' +
    'derived from the name, with a short random suffix if a sibling has it. A node of type `organization` is also an ' +
    'organization.',
  permission: somewhere('hierarchy.manage'),
  capability: 'env_structure.manage',
  body: Body({
    parent_node_id: Type.Optional(Nullable(Id)),
    node_type: Type.String({ minLength: 1, maxLength: 64 }),
    name: Name,
    description: Type.Optional(Description),
    slug: Type.Optional(Nullable(Slug)),
    status: Type.Optional(NodeStatuses),
    metadata: Type.Optional(SentMetadata),
  }),
  events: ['node.created', 'organization.created'],
  answers: { 201: single(NodeView), ...errors(...placing, 'nodes.not_in_access_model') },
  async handle({ body, ...context }) {
    const parentId = body.parent_node_id ?? null;
    await assertHoldsAt(context, managing, parentId);
    const node = await context.services.hierarchy.create(context.scope, {
      parentId,
      nodeType: body.node_type,
      name: body.name.trim(),
      description: body.description ?? null,
      slug: body.slug ?? undefined,
      status: body.status ?? 'active',
      metadata: body.metadata ?? {},
    });
    return { data: presentNode(node) };
  },
});

export const getNode = operation({
  ...common,
  id: 'getNode',
  method: 'GET',
  path: '/nodes/:id',
  summary: 'Get a node',
  permission: at('id', 'hierarchy.view'),
  capability: 'env_structure.view',
  onTheWay: true,
  params: ById,
  answers: { 200: single(VisibleNodeSchema), ...errors('nodes.node_not_found') },
  async handle({ params, ...context }) {
    const visibility = await visibilityOf(context);
    return { data: presentVisibleNode(await context.services.hierarchy.get(context.scope, visibility, params.id)) };
  },
});

/** The answers of an operation that can move a node. */
const moved = {
  200: single(NodeView),
  ...errors(
    ...placing,
    'nodes.would_cycle',
    'nodes.root_fixed',
    'role.cannot_grant',
    'if_match.required',
    'if_match.invalid',
  ),
};

export const updateNode = operation({
  ...common,
  id: 'updateNode',
  method: 'PATCH',
  path: '/nodes/:id',
  summary: 'Update or move a node',
  description:
    'An inactive node and everything below it are excluded from every decision: no role counts there. An end user, whose ' +
    'own rights end with it, cannot activate it again; an API key or an administrator can. `parent_node_id` moves it ' +
    'with everything below it, as `move` does, and null directly below the root; the permission is then also required at both parents, unless it is there ' +
    'already. `metadata` is replaced as a whole. The root can be renamed and described, but never moved or deactivated.',
  permission: at('id', 'hierarchy.manage'),
  capability: 'env_structure.manage',
  retriedWithoutAccess: true,
  params: ById,
  ifMatch: 'required',
  body: Body({
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    slug: Type.Optional(Slug),
    status: Type.Optional(NodeStatuses),
    metadata: Type.Optional(SentMetadata),
    parent_node_id: Type.Optional(Nullable(Id)),
  }),
  exists: ({ services, scope, params }) => services.hierarchy.get(scope, everything, params.id),
  events: ['node.updated', 'node.moved', 'organization.updated', ...movingOutEvents],
  answers: moved,
  async handle({ params, body, version, ...context }) {
    const parentId = await parentIn(context, params.id, body.parent_node_id);
    if (parentId !== undefined) await assertMayMove(context, params.id, parentId, version);
    const changes = definedOnly({
      name: body.name?.trim(),
      description: body.description,
      slug: body.slug,
      status: body.status,
      metadata: body.metadata,
      parentId,
    });
    const { services, scope } = context;
    const changing = services.hierarchy.change(scope, params.id, version, changes);
    return { data: presentNode(await changing.catch(conflictAs(presentNode))) };
  },
});

export const moveNode = operation({
  ...common,
  id: 'moveNode',
  method: 'POST',
  path: '/nodes/:id/move',
  summary: 'Move a node under another parent',
  description:
    'Everything below it moves with it. The permission is also required at the previous and at the new parent, unless ' +
    'they are the same. Roles held at the new parent and above it count at the node from then on; a caller who would ' +
    'gain something there that they do not hold at the node is refused (`role.cannot_grant`).',
  permission: at('id', 'hierarchy.manage'),
  capability: 'env_structure.manage',
  params: ById,
  ifMatch: 'required',
  body: Body({ parent_node_id: Id }),
  exists: ({ services, scope, params }) => services.hierarchy.get(scope, everything, params.id),
  events: ['node.moved', 'organization.updated', ...movingOutEvents],
  answers: moved,
  async handle({ params, body, version, ...context }) {
    await assertMayMove(context, params.id, body.parent_node_id, version);
    const changes = { parentId: body.parent_node_id };
    const moving = context.services.hierarchy.change(context.scope, params.id, version, changes);
    return { data: presentNode(await moving.catch(conflictAs(presentNode))) };
  },
});

export const deleteNode = operation({
  ...common,
  id: 'deleteNode',
  method: 'DELETE',
  path: '/nodes/:id',
  summary: 'Delete a node',
  description:
    'With `cascade=true`, everything below it is deleted too. Role assignments, SCIM group mappings and organizations at ' +
    'these nodes, with everything that belongs to those (as when one is deleted), are deleted with them, each with its ' +
    'own event. More than 10 000 nodes, or role assignments at them, are deleted from the lowest up in several ' +
    'transactions: if the request ends before its response, the rest remains, and the next request continues.',
  permission: at('id', 'hierarchy.manage'),
  capability: 'env_structure.manage',
  retriedWithoutAccess: true,
  params: ById,
  query: Type.Object({ cascade: Type.Optional(Type.Boolean({ default: false })) }, { additionalProperties: false }),
  ifMatch: 'required',
  exists: ({ services, scope, params }) => services.hierarchy.get(scope, everything, params.id),
  events: nodeRemovalEvents,
  answers: {
    204: Type.Null(),
    ...errors(
      'nodes.node_not_found',
      'nodes.has_children',
      'nodes.root_fixed',
      'if_match.required',
      'if_match.invalid',
    ),
  },
  async handle({ services, scope, params, query, version }) {
    const removing = services.hierarchy.remove(scope, params.id, { version, cascade: query.cascade ?? false });
    await removing.catch(conflictAs(presentNode));
  },
});

/**
 * Returns the id of the parent that a body names: null means the root, as at creation. For the root itself null changes
 * nothing, since it has no parent.
 */
async function parentIn(
  { services, scope }: { services: Pick<Services, 'hierarchy'>; scope: EnvironmentScope },
  id: string,
  named: string | null | undefined,
): Promise<string | undefined> {
  if (named !== null) return named;
  const root = await services.hierarchy.root(scope);
  return root.id === id ? undefined : root.id;
}

/**
 * Checks that the caller may move a node, for which they need the permission at both parents: otherwise somebody who
 * manages one team could take it out of the department whose managers are to see it. The version is compared first,
 * since the caller may have named the next one, and the old parent read here belongs to this version only. A move to
 * the present parent changes nothing. Roles at a node apply below it, so nobody may move a node to where they hold more
 * than at the node itself.
 * @throws DomainError version.conflict, role.cannot_grant, and what `assertHoldsAt` throws
 */
async function assertMayMove(
  context: Parameters<typeof assertHoldsAt>[0] & { services: Pick<Services, 'hierarchy'> },
  id: string,
  parentId: string,
  version: number,
): Promise<void> {
  const node = await context.services.hierarchy.get(context.scope, everything, id);
  if (node.version !== version) throw new DomainError('version.conflict', { current: presentNode(node) });
  if (node.parentNodeId === parentId) return;
  await assertHoldsAt(context, managing, parentId);
  if (node.parentNodeId !== null) await assertHoldsAt(context, managing, node.parentNodeId);
  const { services, scope, caller } = context;
  const gained = await services.rights.gainedBy(scope, caller, { id, parentId });
  if (gained.length > 0) throw cannotGrant('role.cannot_grant', 'parent_node_id', gained);
}
