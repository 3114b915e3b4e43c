import type { EntityManager } from 'typeorm';
import { User } from '../../entities/user.js';

/** The User with this address. */
export async function userByAddress(tx: EntityManager, email: string): Promise<User | null> {
  // Row-level security keeps PostgreSQL from using the index on addresses; the function may.
  const [found] = await tx.query<{ id: string | null }[]>('select gatehouse_user_id($1) as id', [email]);
  return found?.id ? tx.findOneBy(User, { id: found.id }) : null;
}
