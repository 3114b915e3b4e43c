import type { EntityManager } from 'typeorm';
import { User } from '../../../entities/user.js';

/** Returns the User with this address, or null. */
export async function userByAddress(tx: EntityManager, email: string): Promise<User | null> {
  // Row-level security keeps PostgreSQL from using the index on addresses; the function can use it.
  const [found] = await tx.query<{ id: string | null }[]>('select gatehouse_user_id($1) as id', [email]);
  return found?.id ? tx.findOneBy(User, { id: found.id }) : null;
}
