import type { EntityManager } from 'typeorm';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Caller } from '../caller.js';
import { reachOf } from '../capabilities/reach.js';
import { covers } from '../capabilities/role-limits.js';
import { DomainError } from '../errors.js';

/** SQL: the production Environments of a member of one for tests. One that is being removed is nobody's any more. */
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

type Asked = Pick<Db, 'statement'>;

/**
 * @param on a transaction that holds the person: then it stays so until its end
 * @throws DomainError identity.in_production
 */
export type AssertStaysInTest = (
  scope: EnvironmentScope,
  caller: Caller,
  identityId: string,
  on?: Asked,
) => Promise<void>;

/**
 * Whether somebody may be changed by whoever asks. By the time that their row is held, they can have come to production, or have
 * been given a role: so it is asked there, on the transaction, whether or not it was asked before.
 */
export type MayChange = (on?: Asked) => Promise<void>;

/**
 * A person has one profile, one password and one set of factors in an Account, so a key for tests that may change them in its own
 * environment would sign in to production with them. Credentials never cross between the two (specification, "What the service
 * does"): who is in production is changed from there, or by an administrator whose roles reach all of it (docs/decisions/0077).
 */
export const createProductionGuard =
  ({ db }: { db: Asked }): AssertStaysInTest =>
  async ({ environmentId }, caller, identityId, on = db) => {
    const reach = caller.type === 'platform_admin' ? reachOf(caller.roles, 'identities.manage') : undefined;
    if (reach === null) return;
    const production = await on.statement<ProductionEnvironment>(productionStatement, [environmentId, identityId]);
    if (!production.every((place) => reach && covers(reach, place))) throw new DomainError('identity.in_production');
  };

/**
 * A provider of an Environment for tests says who somebody is there, and proves nothing by which they would change how they sign in to production.
 * @param ssoConnectionId by which the person signed in, if by one
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

/** The same for who has no roles: whether an Identity of an Environment for tests is in a production one, too; a transaction is of the Account. */
export const isInProduction = async (
  on: Asked,
  { environmentId }: Pick<EnvironmentScope, 'environmentId'>,
  identityId: string,
): Promise<boolean> => (await on.statement(productionStatement, [environmentId, identityId])).length > 0;
