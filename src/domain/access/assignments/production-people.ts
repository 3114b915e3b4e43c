import type { EntityManager } from 'typeorm';
import type { Db } from '../../../platform/database/db.js';
import { dbWithin } from '../../../platform/database/db-within.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { Caller } from '../../caller.js';
import { reachOf } from '../../capabilities/reach.js';
import { covers } from '../../capabilities/role-limits.js';
import { DomainError } from '../../errors.js';

/**
 * SQL: the production Environments that a person of a test Environment is in as well. One that is being deleted belongs
 * to no Account, and does not count.
 */
export const productionEnvironments = ({
  environment,
  identity,
}: Record<'environment' | 'identity', string>): string => `
select e.id as "environmentId", e.application_id as "applicationId"
from environments here
  join environment_memberships found on found.environment_id = here.id and found.identity_id = ${identity}
  join environment_memberships m on m.identity_id = ${identity}
  join environments e on e.id = m.environment_id and e.type = 'production' and e.account_id = m.account_id
where here.id = ${environment} and here.type <> 'production'`;

const productionStatement = {
  name: 'production_environments_of_an_identity',
  text: productionEnvironments({ environment: '$1', identity: '$2' }),
};

interface ProductionEnvironment {
  environmentId: string;
  applicationId: string;
}

/**
 * @param on a transaction that has locked the person: then the answer holds until it ends
 * @throws DomainError identity.in_production
 */
export type AssertStaysInTest = (
  scope: EnvironmentScope,
  caller: Caller,
  identityId: string,
  on?: Pick<Db, 'statement'>,
) => Promise<void>;

/**
 * Checks that the caller may change a person. It is called in the transaction that has locked the person, even if it
 * was called before: meanwhile they may have joined production, or been given a role.
 */
export type MayChange = (on?: Pick<Db, 'statement'>) => Promise<void>;

/**
 * A person has one profile, one password and one set of factors in an Account. A caller who changes them with the key
 * of a test Environment could sign in to production as that person, but credentials never cross between the two
 * (specification, "What the service does"). So people who are in production are changed from there, or by an
 * administrator whose roles reach all of it (docs/decisions/0077).
 */
export const createProductionGuard =
  ({ db }: { db: Pick<Db, 'statement'> }): AssertStaysInTest =>
  async ({ environmentId }, caller, identityId, on = db) => {
    const reach = caller.type === 'platform_admin' ? reachOf(caller.roles, 'identities.manage') : undefined;
    if (reach === null) return;
    const production = await on.statement<ProductionEnvironment>(productionStatement, [environmentId, identityId]);
    if (!production.every((place) => reach && covers(reach, place))) throw new DomainError('identity.in_production');
  };

/**
 * The identity provider of a test Environment vouches for people there only. That is not enough to change how they sign
 * in to production.
 * @param ssoConnectionId the connection by which the person signed in, if any
 * @throws DomainError identity.in_production
 */
export async function assertNotByTestProvider(
  tx: EntityManager,
  scope: Pick<EnvironmentScope, 'environmentId'>,
  identityId: string,
  ssoConnectionId: string | null,
): Promise<void> {
  if (ssoConnectionId !== null && (await isInProduction(dbWithin(tx), scope, identityId)))
    throw new DomainError('identity.in_production');
}

const inProductionStatement = {
  name: 'identity_is_in_production',
  text: `select from environments here where here.id = $1 and here.type <> 'production' and exists (
  select from environment_memberships m join environments e on e.id = m.environment_id and e.account_id = m.account_id
  where m.identity_id = $2 and e.type = 'production')`,
};

/**
 * Whether an Identity is in a production Environment, as seen from a test one of its Account, in which it may not be
 * yet, or not any more; seen from production, never. A transaction has to be of the Account.
 */
export const isInProduction = async (
  on: Pick<Db, 'statement'>,
  { environmentId }: Pick<EnvironmentScope, 'environmentId'>,
  identityId: string,
): Promise<boolean> => (await on.statement(inProductionStatement, [environmentId, identityId])).length > 0;
