import type { EntityManager } from 'typeorm';

/**
 * Whether somebody signs in to an Environment by a password, which is then the first thing to change: to whom has none, or is asked
 * for none, a mail that says so names something that does not exist.
 */
export async function hasPasswordIn(tx: EntityManager, environmentId: string, identityId: string): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    `select from identities i, environment_settings s
     where s.environment_id = $1 and s.password_login_enabled and i.id = $2 and i.password_hash is not null`,
    [environmentId, identityId],
  );
  return rows.length > 0;
}
