import { Type } from 'typebox';
import type { NodeTypeSchema } from '../../../entities/node-type-schema.js';
import { errors, operation, somewhere } from '../surfaces/operation.js';
import { Body, Name, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';
import { worded } from '../surfaces/validation-words.js';
import { conflictAs } from '../surfaces/version-conflict.js';

const common = { tag: 'Hierarchy', level: 'environment', path: '/node-type-schema' } as const;
const Key = Type.String({
  example: 'site',
  pattern: worded('^[a-z][a-z0-9_-]{0,62}$', 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter'),
});
const MetadataSchema = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  'x-max-bytes': 16 * 1024,
  description:
    'A JSON Schema (2020-12) for the `metadata` of nodes of this type, up to 16 KiB. `$ref` may only refer to its own ' +
    '`$defs`; `$id` and `$anchor` are not allowed; `uniqueItems` requires a `maxItems` of at most 200; a `pattern` must ' +
    'not be able to take exponential time, and never matches a text of more than 1000 characters.',
});
const TypeFields = {
  key: Key,
  name: Name,
  description: Nullable(Type.String({ maxLength: 1000 })),
  allowed_parents: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100, uniqueItems: true }),
  can_be_root: Type.Boolean({ description: 'Whether nodes of this type may be directly below the root.' }),
  metadata_schema: Nullable(MetadataSchema),
  icon: Nullable(Type.String({ minLength: 1, maxLength: 200 })),
};
const MaxDepth = Type.Integer({ minimum: 1, maximum: 50, description: 'Levels below the root.' });
const SchemaView = Resource('NodeTypeSchema', {
  max_depth: MaxDepth,
  node_types: Type.Array(Resource('NodeType', TypeFields)),
  version: Type.Integer(),
  updated_at: Timestamp,
});

const present = ({ maxDepth, nodeTypes, version, updatedAt }: NodeTypeSchema) => ({
  max_depth: maxDepth,
  node_types: nodeTypes,
  version,
  updated_at: updatedAt,
});

export const getNodeTypeSchema = operation({
  ...common,
  id: 'getNodeTypeSchema',
  method: 'GET',
  summary: 'Get the node-type schema',
  permission: somewhere('hierarchy.view'),
  capability: 'env_structure.view',
  inPart: true,
  answers: { 200: single(SchemaView) },
  handle: async ({ services, scope }) => ({ data: present(await services.nodeTypeSchemas.get(scope)) }),
});

export const replaceNodeTypeSchema = operation({
  ...common,
  id: 'replaceNodeTypeSchema',
  method: 'PUT',
  summary: 'Replace the node-type schema',
  description:
    'Takes effect immediately, and every node must conform to it: if some do not, nothing changes, and the error names ' +
    'them (up to 20). The type `root` is built in; nodes of type `organization` are organizations.',
  permission: 'hierarchy.manage',
  capability: 'env_structure.manage',
  ifMatch: 'required',
  body: Body({
    max_depth: MaxDepth,
    node_types: Type.Array(
      Body(
        {
          ...TypeFields,
          description: Type.Optional(TypeFields.description),
          allowed_parents: Type.Optional(TypeFields.allowed_parents),
          can_be_root: Type.Optional(TypeFields.can_be_root),
          metadata_schema: Type.Optional(TypeFields.metadata_schema),
          icon: Type.Optional(TypeFields.icon),
        },
        'NodeTypeToHave',
      ),
      { maxItems: 100 },
    ),
  }),
  events: ['node_type_schema.updated'],
  answers: {
    200: single(SchemaView),
    ...errors('node_type_schema.breaks_nodes', 'validation.failed', 'if_match.required', 'if_match.invalid'),
  },
  async handle({ services, scope, version, body }) {
    const nodeTypes = body.node_types.map((type) => ({
      key: type.key,
      name: type.name.trim(),
      description: type.description ?? null,
      allowed_parents: type.allowed_parents ?? [],
      can_be_root: type.can_be_root ?? false,
      metadata_schema: type.metadata_schema ?? null,
      icon: type.icon ?? null,
    }));
    const replacing = services.nodeTypeSchemas.replace(scope, version, { maxDepth: body.max_depth, nodeTypes });
    return { data: present(await replacing.catch(conflictAs(present))) };
  },
});
