import { getMetadataArgsStorage } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Db, RunsStatement } from '../../platform/database/db.js';
import { columnsOf } from '../row-pages.js';
import { livingOrganization } from './covering.js';

const properties = getMetadataArgsStorage()
  .filterColumns(SsoConnection)
  .map(({ propertyName }) => propertyName);

/** A connection, and whether anybody comes by it: it is active, and so is the organization whose it is, with all above that. */
export interface ReadConnection extends SsoConnection {
  isOpen: boolean;
}

const text = `select ${columnsOf('c', properties)}, c.status = 'active' and ${livingOrganization('c.organization_id')} as "isOpen"
from sso_connections c where c.id = $1`;
const statement = { name: 'read_sso_connection', text: `${text} and (c.account_id = $2) is true` };
const anyStatement = { name: 'read_any_sso_connection', text };

/** A connection of an Account, whatever its status: as the entity, by one statement. */
export async function readConnection(
  run: RunsStatement,
  { accountId, id }: Pick<SsoConnection, 'accountId' | 'id'>,
): Promise<ReadConnection | null> {
  const [found] = await run<ReadConnection>(statement, [id, accountId]);
  return found ?? null;
}

/** The same of any Account, where a provider comes that knows the connection's URLs alone. */
export async function readAnyConnection(db: Pick<Db, 'statement'>, id: string): Promise<ReadConnection | null> {
  const [found] = await db.statement<ReadConnection>(anyStatement, [id]);
  return found ?? null;
}
