import type { EntityManager } from 'typeorm';
import { Environment } from '../../entities/environment.js';
import type { EnvironmentScope } from '../platform/scope.js';
import { DomainError } from './errors.js';

/**
 * SQL: whether the Environment of a row still exists. One that is being deleted belongs to no Account any more
 * (docs/decisions/0042), so its rows are left out. It is one look-up by key, whatever the plan.
 * @param row the prefix of the row's columns
 */
export const environmentExists = (row: string): string =>
  `(select account_id from environments where id = ${row}.environment_id) = ${row}.account_id`;

/**
 * Keeps an Environment from being deleted until the end of the transaction: the deletion ends what is in it by then,
 * and would miss what is created meanwhile. Call it before locking anything in the Environment, in the order in which a
 * deletion takes its locks.
 * @throws DomainError environment.not_found
 */
export async function lockEnvironment(
  tx: EntityManager,
  { accountId, environmentId }: Pick<EnvironmentScope, 'accountId' | 'environmentId'>,
): Promise<Environment> {
  const where = { accountId, id: environmentId };
  const environment = await tx.findOne(Environment, { where, lock: { mode: 'for_key_share' } });
  if (!environment) throw new DomainError('environment.not_found');
  return environment;
}
