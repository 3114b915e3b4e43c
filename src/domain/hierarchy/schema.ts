import type { EntityManager } from 'typeorm';
import { type NodeType, NodeTypeSchema } from '../../../entities/node-type-schema.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { nilUuid } from '../../platform/uuid.js';
import { changedFields } from '../changed-fields.js';
import { DomainError, type ErrorDetail, maxNamed } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { metadataProblems, tooSlow } from './metadata.js';
import { compiledSchema } from './metadata-schemas.js';
import { createPacing } from './pacing.js';
import { rootType } from './rules.js';
import { schemaFor } from './schema-row.js';
import { UnusableSchema } from './unusable-schema.js';

export interface WantedSchema {
  maxDepth: number;
  nodeTypes: NodeType[];
}

export interface NodeTypeSchemas {
  get(scope: EnvironmentScope): Promise<NodeTypeSchema>;
  /**
   * Replaces the schema, if every node fits the new one. The same schema again is no change.
   * @param version as the caller read it
   * @throws DomainError version.conflict with the current schema; validation.failed; node_type_schema.breaks_nodes,
   *   which names the nodes
   */
  replace(scope: EnvironmentScope, version: number, wanted: WantedSchema): Promise<NodeTypeSchema>;
}

const largestTypes = 256 * 1024;

export function createNodeTypeSchemas({ db, now }: { db: Db; now: Clock }): NodeTypeSchemas {
  return {
    get: (scope) => db.transaction(scope, (tx) => tx.findOneByOrFail(NodeTypeSchema, within(scope))),
    replace: (scope, version, wanted) =>
      db.transaction(scope, async (tx) => {
        const current = await schemaFor(tx, scope, 'another shape');
        if (current.version !== version) throw new DomainError('version.conflict', { current });
        if (changedFields(current, wanted).length === 0) return current;
        assertSound(wanted);
        const broken = [
          ...(await misplaced(tx, scope, wanted)),
          ...(await withOtherMetadata(tx, scope, current, wanted)),
        ];
        if (broken.length > 0) {
          throw new DomainError('node_type_schema.breaks_nodes', { details: broken.slice(0, maxNamed) });
        }
        const updated: NodeTypeSchema = { ...current, ...wanted, version: version + 1, updatedAt: now() };
        const { maxDepth, nodeTypes, updatedAt } = updated;
        await tx.update(NodeTypeSchema, within(scope), { maxDepth, nodeTypes, updatedAt, version: updated.version });
        await recordEvent(tx, 'node_type_schema.updated', {
          ...scope,
          resourceId: scope.environmentId,
          metadata: { version: updated.version, max_depth: maxDepth, node_types: nodeTypes.map(({ key }) => key) },
        });
        return updated;
      }),
  };
}

/** Checks the schema itself, independently of existing nodes. */
function assertSound({ nodeTypes }: WantedSchema): void {
  const details: ErrorDetail[] = [];
  const keys = nodeTypes.map(({ key }) => key);
  if (JSON.stringify(nodeTypes).length > largestTypes) {
    details.push({ field: 'node_types', code: 'too_large', message: 'are larger than 256 KiB together' });
  }
  for (const [i, { key, allowed_parents, metadata_schema }] of nodeTypes.entries()) {
    const field = `node_types[${i}]`;
    if (key === rootType) details.push({ field: `${field}.key`, code: 'reserved', message: '`root` is built in' });
    if (keys.indexOf(key) < i)
      details.push({ field: `${field}.key`, code: 'repeated', message: 'is already in the list' });
    for (const [j, parent] of allowed_parents.entries()) {
      if (keys.includes(parent)) continue;
      const message = parent === rootType ? 'use `can_be_root` instead' : 'is not a node type of this schema';
      details.push({ field: `${field}.allowed_parents[${j}]`, code: 'unknown', message });
    }
    if (details.length > 0 || !metadata_schema) continue; // a type that is refused already is not compiled
    const message = whyUnusable(metadata_schema);
    if (message !== null) details.push({ field: `${field}.metadata_schema`, code: 'unusable', message });
  }
  if (details.length > 0) throw new DomainError('validation.failed', { details });
}

function whyUnusable(schema: object): string | null {
  try {
    compiledSchema(schema);
    return null;
  } catch (error) {
    if (error instanceof UnusableSchema) return error.message;
    throw error;
  }
}

interface Misplaced {
  id: string;
  name: string;
  type: string;
  parent_type: string;
}

/** Returns nodes whose type the schema lacks, whose parent it does not allow, or that are too deep. */
async function misplaced(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { maxDepth, nodeTypes }: WantedSchema,
): Promise<ErrorDetail[]> {
  const pairs = nodeTypes.flatMap(({ key, allowed_parents, can_be_root }) =>
    [...allowed_parents, ...(can_be_root ? [rootType] : [])].map((parent) => `${key}/${parent}`),
  );
  const rows = await tx.query<Misplaced[]>(
    `select n.id, n.name, n.node_type as type, p.node_type as parent_type
     from nodes n join nodes p on p.id = n.parent_node_id
     where n.account_id = $1 and n.environment_id = $2
       and (n.node_type || '/' || p.node_type <> all($3::text[]) or cardinality(n.path) - 1 > $4)
     order by cardinality(n.path), n.id limit $5`,
    [accountId, environmentId, pairs, maxDepth, maxNamed],
  );
  return rows.map(({ id, name, type, parent_type }) => {
    const i = nodeTypes.findIndex(({ key }) => key === type);
    const node = `node "${name}" (${id})`;
    if (i < 0) return { field: 'node_types', code: 'type_in_use', message: `lack \`${type}\`, the type of ${node}` };
    if (!pairs.includes(`${type}/${parent_type}`)) {
      const field = `node_types[${i}].${parent_type === rootType ? 'can_be_root' : 'allowed_parents'}`;
      return { field, code: 'parent_in_use', message: `does not allow ${node}, which is below \`${parent_type}\`` };
    }
    return { field: 'max_depth', code: 'too_small', message: `is less than the depth of ${node}` };
  });
}

/** Milliseconds for checking all nodes. With a harmless schema, some hundred thousand nodes take that long. */
const maxCheckingMs = 10_000;

/**
 * Nodes whose metadata does not fit the new schema of their type. They are read in parts, and checked in turns with
 * other work, since there may be very many.
 */
async function withOtherMetadata(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  current: NodeTypeSchema,
  { nodeTypes }: WantedSchema,
): Promise<ErrorDetail[]> {
  const before = new Map(current.nodeTypes.map(({ key, metadata_schema }) => [key, JSON.stringify(metadata_schema)]));
  const stricter = nodeTypes.filter(
    ({ key, metadata_schema }) => metadata_schema && JSON.stringify(metadata_schema) !== before.get(key),
  );
  const details: ErrorDetail[] = [];
  const pacing = createPacing();
  let last = nilUuid;
  while (stricter.length > 0 && details.length < maxNamed) {
    const rows = await tx.query<{ id: string; name: string; type: string; metadata: object }[]>(
      `select id, name, node_type as type, metadata from nodes
       where account_id = $1 and environment_id = $2 and id > $3 and node_type = any($4) order by id limit 200`,
      [accountId, environmentId, last, stricter.map(({ key }) => key)],
    );
    for (const { id, name, type, metadata } of rows) {
      const nodeType = stricter.find(({ key }) => key === type) as NodeType;
      const [found] = await pacing.piece(() => metadataProblems(nodeType, metadata));
      const problem = pacing.spent() > maxCheckingMs ? tooSlow : found;
      if (!problem) continue;
      const field = `node_types[${nodeTypes.indexOf(nodeType)}].metadata_schema`;
      const message = `is not valid for ${problem.field} of node "${name}" (${id}): ${problem.message}`;
      details.push({ field, code: problem.code, message });
      if (problem.code === 'too_slow') return details;
    }
    const end = rows.at(-1)?.id;
    if (end === undefined || rows.length < 200) break;
    last = end;
  }
  return details;
}
