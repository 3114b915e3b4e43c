import { Any, type EntityManager, type FindOperator } from 'typeorm';

/**
 * Returns the ids of an Account's pending invites to an address. Through a function of the tables' owner, since
 * row-level security keeps PostgreSQL from using the index on addresses.
 */
export async function waitingIds(tx: EntityManager, accountId: string, email: string): Promise<FindOperator<string>> {
  const rows = await tx.query<{ id: string }[]>('select gatehouse_waiting_invites($1, $2) as id', [accountId, email]);
  return Any(rows.map(({ id }) => id));
}
