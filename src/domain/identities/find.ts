import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { type Db, type Statement, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';

/** An Identity as a member of one Environment. */
export interface IdentityInEnvironment {
  identity: Identity;
  membership: EnvironmentMembership;
}

/** @throws DomainError identity.not_found if there is no such member of the Environment */
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

const memberStatement: Statement = {
  name: 'is_member',
  text: 'select from environment_memberships where environment_id = $2 and identity_id = $3 and (account_id = $1) is true',
};

/** Only checks that there is such a member, in one round trip. @throws DomainError identity.not_found */
export async function assertMember(db: Pick<Db, 'statementIn'>, scope: EnvironmentScope, id: string): Promise<void> {
  const rows = await db.statementIn(scope, memberStatement, [scope.accountId, scope.environmentId, id]);
  if (rows.length === 0) throw new DomainError('identity.not_found');
}

/**
 * Like `findMember`, with the Identity locked until the end of the transaction. It is locked before anything that
 * belongs to it, as by a sign-in or a change of its password.
 * @throws DomainError identity.not_found
 */
export async function lockMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
): Promise<IdentityInEnvironment> {
  await lockIdentity(tx, scope, id);
  return findMember(tx, scope, id);
}

/** Locks an Identity until the end of the transaction, if it exists. */
export async function lockIdentity(tx: EntityManager, { accountId }: EnvironmentScope, id: string): Promise<void> {
  const lock = { mode: 'pessimistic_write' } as const;
  await tx.findOne(Identity, { where: { accountId, id }, select: { id: true }, lock });
}
