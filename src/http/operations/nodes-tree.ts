import { Type } from 'typebox';
import { always, goesFar, listQuery, paginated } from '../surfaces/lists.js';
import { Answer, at, errors, operation, somewhere } from '../surfaces/operation.js';
import { ById, Id, listOf, OneOf, Resource, single } from '../surfaces/schemas.js';
import { IdentityRowWithRoles, personSorts, rowWithRoles } from './identity-rows.js';
import { everything, presentVisibleNode, VisibleNodeFields, VisibleNodeSchema, visibilityOf } from './node-views.js';
import { nodeQuery } from './nodes.js';
import { treeInPieces } from './tree-in-pieces.js';

const common = {
  tag: 'Hierarchy',
  level: 'environment',
  method: 'GET',
  inPart: true,
  capability: 'env_structure.view',
} as const;
/**
 * A schema that contains itself, by its name in the document. Nothing is serialized by it: `treeInPieces` writes each
 * node by the schema of a single one.
 */
const NodeTree = Resource('NodeTree', {
  ...VisibleNodeFields,
  children: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true, 'x-resource': 'NodeTree' }), {
    description: 'Its direct children, by name.',
  }),
});

export const getNodeTree = operation({
  ...common,
  id: 'getNodeTree',
  path: '/nodes/tree',
  summary: 'Get the node tree',
  description:
    'Returns the root, the nodes below it that the caller may see, and the nodes that lead to them (`path_only`). ' +
    '`depth` is the number of levels below the root; without it, all. A tree with more than 20 000 nodes, or 16 million ' +
    'characters of descriptions and metadata, is refused with 400.',
  waitsMs: Number.POSITIVE_INFINITY,
  isBroad: always,
  isHeavy: true,
  permission: somewhere('hierarchy.view'),
  query: Type.Object(
    { depth: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })) },
    { additionalProperties: false },
  ),
  answers: {
    200: single(NodeTree),
    ...errors('nodes.tree_too_large', 'nodes.node_not_found'),
  },
  async handle({ query, ...context }) {
    const visibility = await visibilityOf(context);
    const nodes = await context.services.hierarchy.tree(context.scope, visibility, query.depth ?? null);
    return new Answer(200, treeInPieces(nodes), { 'content-type': 'application/json; charset=utf-8' });
  },
});

export const getNodeSubtree = operation({
  ...common,
  id: 'getNodeSubtree',
  path: '/nodes/:id/subtree',
  summary: 'List a node and everything below it',
  description: '`q` searches name and slug.',
  permission: at('id', 'hierarchy.view'),
  params: ById,
  query: nodeQuery(),
  answers: { 200: listOf(VisibleNodeSchema), ...errors('nodes.node_not_found') },
  isBroad: goesFar,
  exists: ({ services, scope, params }) => services.hierarchy.get(scope, everything, params.id),
  async handle({ params, query: { sort_by: sortBy, node_type: nodeType, ...page }, ...context }) {
    const visibility = await visibilityOf(context);
    const { services, scope } = context;
    return paginated(
      await services.hierarchy.subtree(scope, visibility, params.id, { ...page, sortBy, nodeType }),
      presentVisibleNode,
    );
  },
});

export const listNodeChildren = operation({
  ...common,
  id: 'listNodeChildren',
  path: '/nodes/:id/children',
  summary: 'List the children of a node',
  description: '`q` searches name and slug.',
  permission: at('id', 'hierarchy.view'),
  onTheWay: true,
  params: ById,
  query: nodeQuery(),
  answers: { 200: listOf(VisibleNodeSchema), ...errors('nodes.node_not_found') },
  isBroad: goesFar,
  async exists({ params, ...context }) {
    await context.services.hierarchy.get(context.scope, await visibilityOf(context), params.id);
  },
  async handle({ params, query: { sort_by: sortBy, node_type: nodeType, ...page }, ...context }) {
    const visibility = await visibilityOf(context);
    const { services, scope } = context;
    return paginated(
      await services.hierarchy.children(scope, visibility, params.id, { ...page, sortBy, nodeType }),
      presentVisibleNode,
    );
  },
});

export const listNodeAncestors = operation({
  ...common,
  id: 'listNodeAncestors',
  path: '/nodes/:id/ancestors',
  summary: 'List the ancestors of a node, from the root down',
  description: 'Ancestors that the caller may not see themselves are `path_only`.',
  permission: at('id', 'hierarchy.view'),
  onTheWay: true,
  params: ById,
  answers: { 200: Type.Object({ items: Type.Array(VisibleNodeSchema) }), ...errors('nodes.node_not_found') },
  async handle({ params, ...context }) {
    const visibility = await visibilityOf(context);
    const above = await context.services.hierarchy.ancestors(context.scope, visibility, params.id);
    return { items: above.map(presentVisibleNode) };
  },
});

export const listNodeIdentities = operation({
  ...common,
  id: 'listNodeIdentities',
  path: '/nodes/:id/identities',
  summary: 'List the identities that hold a role at a node',
  description:
    'Considers roles assigned at the node itself, not above it, now or in the future; `roles` lists them. `q` searches ' +
    'first name, last name and email.',
  capability: 'identities.view',
  permission: at('id', 'hierarchy.view'),
  params: ById,
  query: listQuery(personSorts, {
    status: Type.Optional(OneOf(['active', 'inactive'])),
    role_id: Type.Optional(Id),
  }),
  answers: { 200: listOf(IdentityRowWithRoles), ...errors('nodes.node_not_found') },
  exists: ({ services, scope, params }) => services.hierarchy.get(scope, everything, params.id),
  isBroad: always,
  async handle({ services, scope, params, query: { sort_by: sortBy, role_id: roleId, status, ...page } }) {
    const isActive = status && status === 'active';
    const found = await services.identities.listAtNode(scope, params.id, { ...page, sortBy, roleId, isActive });
    return paginated(found, rowWithRoles);
  },
});
