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

export async function identityByAddress(
  tx: EntityManager,
  { accountId }: AccountScope,
  email: string,
): Promise<Identity | null> {
  const id = await identityIdByAddress(tx, { accountId }, email);
  return id === null ? null : tx.findOneBy(Identity, { accountId, id });
}
