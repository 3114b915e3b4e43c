import pg from 'pg';
import { seconds } from '../clock.js';
import { hasCondition } from './postgres-errors.js';

/**
 * Tries the service's connection. `migrate` sets the password of a role only when it creates the role, so a password that
 * was changed in DATABASE_URL alone would otherwise be noticed by the processes that are started next.
 * @returns a warning if PostgreSQL refuses the password; null also if the connection fails for another reason, such as a
 *   rule that admits the service from its own machines only
 */
export async function refusedPassword(serviceUrl: string): Promise<string | null> {
  const client = new pg.Client({
    connectionString: serviceUrl,
    application_name: 'gatehouse migrate',
    connectionTimeoutMillis: seconds(5),
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return null;
  } catch (error) {
    if (!hasCondition(error, 'invalid_password')) return null;
    const role = decodeURIComponent(new URL(serviceUrl).username);
    return `PostgreSQL refuses the role ${role} the password in DATABASE_URL, and migrate changes no password of a role that exists: alter role … password, or name a new role (docs/operations.md, "Upgrading without a pause")`;
  } finally {
    await client.end().catch(() => {});
  }
}
