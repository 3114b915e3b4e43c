import { type EntityManager, MoreThan } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Erasure } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import { DomainError } from '../errors.js';

type Person = Pick<Identity, 'accountId' | 'id'>;

/** Returns whether an Identity exists and is not being erased; the lock waits for a request to erase it. */
export async function stays(tx: EntityManager, { accountId, id }: Person): Promise<boolean> {
  const lock = { mode: 'pessimistic_read' } as const;
  const there = await tx.findOne(Identity, { where: { accountId, id }, select: { id: true }, lock });
  return there !== null && !(await tx.existsBy(Erasure, { accountId, identityId: id, status: 'running' }));
}

/** Returns the refusal of an address that becomes free as soon as its Identity is deleted. */
export function beingDeleted(): DomainError {
  const message = 'belongs to an identity that is being deleted; try again in a moment';
  return new DomainError('identity.email_taken', {
    details: [{ field: 'email', code: 'being_deleted', message }],
    retryAfter: 1,
  });
}

/**
 * Refuses an Identity that is being erased, since its new membership would be deleted too.
 * @throws DomainError identity.email_taken
 */
export async function assertStays(tx: EntityManager, person: Person): Promise<void> {
  if (!(await stays(tx, person))) throw beingDeleted();
}

/**
 * Refuses to resume a cancelled erasure if somebody has added or reactivated the person since. The request for the
 * erasure deactivated every membership, so an active one is newer. The lock waits for a membership that is being added.
 * @throws DomainError process.not_failed
 */
export async function assertNotBack(tx: EntityManager, { accountId, id }: Person, cancelledAt: Date): Promise<void> {
  await tx.findOne(Identity, {
    where: { accountId, id },
    select: { id: true },
    lock: { mode: 'pessimistic_write' },
  });
  const theirs = { accountId, identityId: id };
  const since = [
    { ...theirs, isActive: true },
    { ...theirs, createdAt: MoreThan(cancelledAt) },
  ];
  if (await tx.existsBy(EnvironmentMembership, since)) throw new DomainError('process.not_failed');
}
