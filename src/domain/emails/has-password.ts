import type { EntityManager } from 'typeorm';

/**
 * Returns whether a person signs in to an Environment with a password. A mail that advises to change it first would
 * confuse a person who has none, or is not asked for one.
 */
export async function hasPasswordIn(tx: EntityManager, environmentId: string, identityId: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `select from identities i, environment_settings s
     where s.environment_id = $1 and s.password_login_enabled and i.id = $2 and i.password_hash is not null`,
    [environmentId, identityId],
  );
  return rows.length > 0;
}
