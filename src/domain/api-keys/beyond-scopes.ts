import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Permission } from '../access/permissions.js';

/** By these a key gives roles, or takes over people who hold some. */
const reaching: ReadonlySet<string> = new Set<Permission>([
  'rbac.assign_roles',
  'rbac.manage_roles',
  'identity.manage',
]);

const registeredStatement = {
  name: 'permissions_that_an_application_has_registered',
  text: `select key from permissions where environment_id = $1 and source = 'custom' order by key`,
};

/**
 * What a key with these scopes has to do with beside them: no scope names the permissions that the application has registered, and a
 * key deals with all of them (docs/decisions/0017).
 */
export async function beyondScopes(
  db: Pick<Db, 'statement'>,
  { environmentId }: EnvironmentScope,
  scopes: readonly string[],
): Promise<string[]> {
  if (!scopes.some((scope) => reaching.has(scope))) return [];
  const rows = await db.statement<{ key: string }>(registeredStatement, [environmentId]);
  return rows.map(({ key }) => key);
}
