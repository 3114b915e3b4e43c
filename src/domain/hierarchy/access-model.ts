import type { EntityManager } from 'typeorm';
import { type AccessModel, EnvironmentSettings } from '../../../entities/environment-settings.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError, type ErrorDetail, maxNamed } from '../errors.js';
import { organizationType, rootType } from './rules.js';
import { schemaFor } from './schema-row.js';

/** The node types that an access model has below the root (contract §3, docs/decisions/0033); null: any. */
const typesOf: Record<AccessModel, readonly string[] | null> = {
  flat: [],
  organizations: [organizationType],
  hierarchy: null,
};

/**
 * Checks that the Environment's access model has nodes of that type, in a transaction that has locked the tree's shape.
 * @throws DomainError nodes.not_in_access_model
 */
export async function assertInAccessModel(tx: EntityManager, scope: EnvironmentScope, nodeType: string): Promise<void> {
  const { accessModel } = await tx.findOneOrFail(EnvironmentSettings, {
    where: within(scope),
    select: { environmentId: true, accessModel: true },
  });
  const types = typesOf[accessModel];
  if (types && !types.includes(nodeType)) throw new DomainError('nodes.not_in_access_model');
}

/**
 * Checks that the Environment may change to an access model; no node is created until the end of the transaction.
 * @throws DomainError validation.failed with the nodes that the model does not have
 */
export async function assertFitsAccessModel(
  tx: EntityManager,
  scope: EnvironmentScope,
  accessModel: AccessModel,
): Promise<void> {
  const types = typesOf[accessModel];
  if (!types) return;
  await schemaFor(tx, scope, 'another shape');
  const rows = await tx.query<{ id: string; name: string; type: string }[]>(
    `select id, name, node_type as type from nodes
     where account_id = $1 and environment_id = $2 and node_type <> all($3::text[])
     order by cardinality(path), id limit $4`,
    [scope.accountId, scope.environmentId, [rootType, ...types], maxNamed],
  );
  if (rows.length === 0) return;
  const details = rows.map(
    ({ id, name, type }): ErrorDetail => ({
      field: 'access_model',
      code: 'type_in_use',
      message: `has no \`${type}\`, the type of node "${name}" (${id})`,
    }),
  );
  throw new DomainError('validation.failed', { details });
}
