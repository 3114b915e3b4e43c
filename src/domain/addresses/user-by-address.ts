import type { EntityManager } from 'typeorm';
import { User } from '../../../entities/user.js';

/** Returns the User with this address, or null. */
export async function userByAddress(tx: EntityManager, email: string): Promise<User | null> {
  // Row-level security keeps PostgreSQL from using the index on addresses; the function can use it.
  const [found] = await tx.query<{ id: string | null }[]>('select gatehouse_user_id($1) as id', [email]);
  return found?.id ? tx.findOneBy(User, { id: found.id, email }) : null; // compared again: it may have changed since
}

/** Returns the User with this address, locked: until the end of the transaction the address stays theirs. */
export async function lockUserByAddress(tx: EntityManager, email: string): Promise<User | null> {
  // The address is compared once more with the row that the lock gives, as in `lockIdentityByAddress`.
  const [locked] = await tx.query<{ id: string }[]>(
    'select id from users where id = (select gatehouse_user_id($1::citext)) and email = $1::citext for update',
    [email],
  );
  return locked ? tx.findOneBy(User, { id: locked.id }) : null;
}
