import { getMetadataArgsStorage } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { RunsStatement } from '../../platform/db.js';
import { columnsOf } from '../row-pages.js';

const properties = getMetadataArgsStorage()
  .filterColumns(SsoConnection)
  .map(({ propertyName }) => propertyName);
const statement = {
  name: 'read_sso_connection',
  text: `select ${columnsOf('c', properties)} from sso_connections c where c.id = $1 and (c.account_id = $2) is true`,
};

/** A connection of an Account, whatever its status: as the entity, by one statement. */
export async function readConnection(
  run: RunsStatement,
  { accountId, id }: Pick<SsoConnection, 'accountId' | 'id'>,
): Promise<SsoConnection | null> {
  const [found] = await run<SsoConnection>(statement, [id, accountId]);
  return found ?? null;
}
