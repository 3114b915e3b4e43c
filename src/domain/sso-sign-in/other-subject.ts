import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { isSubjectIdentifier, type Naming } from '../sso-protocols/saml/subjects.js';

const text = `select from sso_links
  where account_id = $1 and connection_id = $2 and (identity_id = $3 or user_id = $3) and subject <> $4
    and (position('@' in subject) = 0 or subject::citext not in ($4::citext, $5::citext)) limit 1`;

/**
 * Returns whether a connection's provider knows a person, an Identity or a User, under another persistent subject: then
 * the person who comes with their address may be a different one, to whom the address was given. A subject that is an
 * address is not persistent: the provider changes it together with the address, which a directory may have reported
 * before. A subject identifier only looks like one, and means the same person in whatever case. So where a provider
 * sends those, only a link to the very address that the person has is left from the time when it sent addresses.
 */
export async function hasOtherSubject(
  tx: EntityManager,
  { id, accountId }: Pick<SsoConnection, 'id' | 'accountId'>,
  { id: personId, email }: { id: string; email: string },
  assertion: Naming,
): Promise<boolean> {
  const formerAddress = isSubjectIdentifier(assertion) ? email : null;
  return (await tx.query<unknown[]>(text, [accountId, id, personId, assertion.subject, formerAddress])).length > 0;
}
