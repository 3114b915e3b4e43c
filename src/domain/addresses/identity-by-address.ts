import type { EntityManager } from 'typeorm';
import { Identity } from '../../../entities/identity.js';
import type { AccountScope } from '../../platform/scope.js';

/** Returns the id of the Account's Identity with this address, or null. */
export async function identityIdByAddress(
  tx: EntityManager,
  { accountId }: AccountScope,
  email: string,
): Promise<string | null> {
  // Row-level security keeps PostgreSQL from using the index on addresses; the function can use it.
  const [found] = await tx.query<{ id: string | null }[]>('select gatehouse_identity_id($1, $2::citext) as id', [
    accountId,
    email,
  ]);
  return found?.id ?? null;
}

/** Returns the Identity with this address as it is now, or null. */
export async function identityByAddress(
  tx: EntityManager,
  { accountId }: AccountScope,
  email: string,
): Promise<Identity | null> {
  const id = await identityIdByAddress(tx, { accountId }, email);
  return id === null ? null : tx.findOneBy(Identity, { accountId, id });
}

// The address is compared once more with the row that the lock gives: a statement that has waited for a change of it
// would otherwise return the person with their new address, whom it had found by the former one.
const lockText = `
select id from identities where (account_id = $1) is true and id = (select gatehouse_identity_id($1, $2::citext)) and email = $2::citext
for share`;

/** Returns the Identity with this address, locked: until the end of the transaction the address stays theirs. */
export async function lockIdentityByAddress(
  tx: EntityManager,
  { accountId }: AccountScope,
  email: string,
): Promise<Identity | null> {
  const [locked] = await tx.query<{ id: string }[]>(lockText, [accountId, email]);
  return locked ? tx.findOneBy(Identity, { accountId, id: locked.id }) : null;
}
