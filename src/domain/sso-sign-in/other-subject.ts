import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';

const text = `select from sso_links
  where account_id = $1 and connection_id = $2 and (identity_id = $3 or user_id = $3) and subject <> $4 and position('@' in subject) = 0 limit 1`;

/**
 * Whether a connection's provider has a lasting name for somebody, an Identity or a User, that is another one: then whoever comes with
 * their address may be somebody else, to whom it was given. A name that is an address itself is no lasting one: such a provider names
 * people anew when their address changes, and a directory may have told of the change before.
 */
export async function hasOtherSubject(
  tx: EntityManager,
  { id, accountId }: Pick<SsoConnection, 'id' | 'accountId'>,
  { id: personId }: { id: string },
  subject: string,
): Promise<boolean> {
  return (await tx.query<unknown[]>(text, [accountId, id, personId, subject])).length > 0;
}
