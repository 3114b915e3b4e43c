import { Any, type EntityManager, type FindOperator } from 'typeorm';

/** By their ids, the invites that wait for an address in an Account: by the owner's function, since beneath row-level security no index serves addresses. */
export async function waitingIds(tx: EntityManager, accountId: string, email: string): Promise<FindOperator<string>> {
  const rows = await tx.query<{ id: string }[]>('select gatehouse_waiting_invites($1, $2) as id', [accountId, email]);
  return Any(rows.map(({ id }) => id));
}
