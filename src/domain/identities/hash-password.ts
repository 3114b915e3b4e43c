import type { Identity } from '../../../entities/identity.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { environmentRule } from '../passwords/context-rows.js';
import type { Passwords } from '../passwords/passwords.js';
import type { Profile } from './profile.js';

/** The owner of a password: an existing Identity, or names and address of a new one. */
type Owner = { id: string } | (Pick<Identity, 'email'> & Partial<Pick<Profile, 'firstName' | 'lastName'>>);

/**
 * Hashes a password that somebody has chosen for a member, if the Environment's rules accept it.
 * @throws DomainError validation.failed, password.breached, password.context_specific
 */
export async function hashAcceptable(
  { db, passwords }: { db: Db; passwords: Pick<Passwords, 'assertAcceptable' | 'hash'> },
  scope: EnvironmentScope,
  password: string,
  owner: Owner,
): Promise<string> {
  const known = 'id' in owner ? owner.id : null;
  const { minLength, context } = await db.transaction(scope, (tx) => environmentRule(tx, scope, known));
  const own = 'id' in owner ? [] : [owner.email, owner.firstName, owner.lastName];
  await passwords.assertAcceptable(password, { minLength, context: [...context, ...own], field: 'password' });
  return passwords.hash(password);
}
