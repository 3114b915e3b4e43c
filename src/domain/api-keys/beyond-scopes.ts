import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Permission } from '../access/roles/permissions.js';

/** With these scopes a key can give roles, or take over people who hold roles. */
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
 * Returns the permissions beyond its scopes that a key with these scopes reaches: no scope names those that the
 * application has registered, and a key holds all of them (docs/decisions/0017).
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
