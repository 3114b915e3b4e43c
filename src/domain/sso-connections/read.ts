import { getMetadataArgsStorage } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { inShareOf } from '../../platform/context.js';
import type { Db, RunsStatement } from '../../platform/database/db.js';
import { columnsOf } from '../lists/row-pages.js';
import { livingOrganization } from './covering.js';

const properties = getMetadataArgsStorage()
  .filterColumns(SsoConnection)
  .map(({ propertyName }) => propertyName);

/**
 * A connection, and whether people can sign in by it: it is active, and so are its organization, if any, and all above.
 */
export interface ReadConnection extends SsoConnection {
  isOpen: boolean;
}

const text = `select ${columnsOf('c', properties)}, c.status = 'active' and ${livingOrganization('c.organization_id')} as "isOpen"
from sso_connections c where c.id = $1`;
const statement = { name: 'read_sso_connection', text: `${text} and (c.account_id = $2) is true` };
const anyStatement = { name: 'read_any_sso_connection', text };

/** Returns a connection of an Account, whatever its status, as the entity, with one statement. */
export async function readConnection(
  run: RunsStatement,
  { accountId, id }: Pick<SsoConnection, 'accountId' | 'id'>,
): Promise<ReadConnection | null> {
  const [found] = await run<ReadConnection>(statement, [id, accountId]);
  return found ?? null;
}

/**
 * Returns a connection of any Account, for requests of a provider, which knows only the connection's URLs. From here on
 * the request works for that Account.
 */
export async function readAnyConnection(db: Pick<Db, 'statement'>, id: string): Promise<ReadConnection | null> {
  const [found] = await db.statement<ReadConnection>(anyStatement, [id]);
  if (found) inShareOf(found.accountId);
  return found ?? null;
}
