import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import { type Db, within } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import type { Passwords } from '../passwords/passwords.js';
import type { EnvironmentScope } from '../scope.js';
import type { IdentityInEnvironment } from './lists.js';

/** @throws DomainError identity.not_found when it has no membership in the Environment */
export async function findMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
): Promise<IdentityInEnvironment> {
  const membership = await tx.findOneBy(EnvironmentMembership, { ...within(scope), identityId: id });
  const identity = membership && (await tx.findOneBy(Identity, { accountId: scope.accountId, id }));
  if (!identity) throw new DomainError('identity.not_found');
  return { identity, membership };
}

/**
 * The same, and nobody else changes the Identity before the end of the transaction. It is locked before anything of it, as
 * by whoever signs it in or changes its password.
 * @throws DomainError identity.not_found
 */
export async function lockMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
): Promise<IdentityInEnvironment> {
  const where = { accountId: scope.accountId, id };
  await tx.findOne(Identity, { where, select: { id: true }, lock: { mode: 'pessimistic_write' } });
  return findMember(tx, scope, id);
}

/** @throws DomainError validation.failed, password.breached */
export async function hashAcceptable(
  { db, passwords }: { db: Db; passwords: Pick<Passwords, 'assertAcceptable' | 'hash'> },
  scope: EnvironmentScope,
  password: string,
): Promise<string> {
  await passwords.assertAcceptable(password, { minLength: await minLengthIn(db, scope), field: 'password' });
  return passwords.hash(password);
}

/** How long a password in an Environment has to be. */
export async function minLengthIn(db: Db, scope: EnvironmentScope): Promise<number> {
  const { passwordMinLength } = await db.transaction(scope, (tx) =>
    tx.findOneOrFail(EnvironmentSettings, {
      where: within(scope),
      select: { environmentId: true, passwordMinLength: true },
    }),
  );
  return passwordMinLength;
}
