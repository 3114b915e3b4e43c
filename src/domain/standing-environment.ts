import type { EntityManager } from 'typeorm';
import { Environment } from '../../entities/environment.js';
import type { EnvironmentScope } from '../platform/scope.js';
import { DomainError } from './errors.js';

/**
 * SQL: whether the Environment of a row is there still. One that is being removed belongs to no Account any more
 * (docs/decisions/0042), so that what belonged to it counts for nothing. One look-up by key, whatever the plan.
 * @param row what its columns are named by
 */
export const environmentStands = (row: string): string =>
  `(select account_id from environments where id = ${row}.environment_id) = ${row}.account_id`;

/**
 * Keeps an Environment from being deleted until the end of the transaction: whoever deletes it ends what is in it by then, and would not
 * see what is made meanwhile. Before what is in it, as who deletes it takes them.
 * @throws DomainError environment.not_found
 */
export async function holdEnvironment(
  tx: EntityManager,
  { accountId, environmentId }: Pick<EnvironmentScope, 'accountId' | 'environmentId'>,
): Promise<Environment> {
  const where = { accountId, id: environmentId };
  const environment = await tx.findOne(Environment, { where, lock: { mode: 'for_key_share' } });
  if (!environment) throw new DomainError('environment.not_found');
  return environment;
}
