import { type EntityManager, MoreThan } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Erasure } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import { DomainError } from '../errors.js';

type Person = Pick<Identity, 'accountId' | 'id'>;

/** Whether somebody is there, and not about to be deleted with everything of them; the lock waits for who asks for that. */
export async function stays(tx: EntityManager, { accountId, id }: Person): Promise<boolean> {
  const lock = { mode: 'pessimistic_read' } as const;
  const there = await tx.findOne(Identity, { where: { accountId, id }, select: { id: true }, lock });
  return there !== null && !(await tx.existsBy(Erasure, { accountId, identityId: id, status: 'running' }));
}

/** The refusal of an address that is free as soon as whose it is has gone. */
export function beingDeleted(): DomainError {
  const message = 'belongs to an identity that is being deleted; try again in a moment';
  return new DomainError('identity.email_taken', {
    details: [{ field: 'email', code: 'being_deleted', message }],
    retryAfter: 1,
  });
}

/** Whoever joins while everything of them is being deleted would be deleted too. @throws DomainError identity.email_taken */
export async function assertStays(tx: EntityManager, person: Person): Promise<void> {
  if (!(await stays(tx, person))) throw beingDeleted();
}

/**
 * Whom somebody has added or let in again since their deletion was cancelled is not deleted by a word about its process. It kept
 * them out everywhere when it was asked for, so that an active membership is newer. The lock waits for who joins at this moment.
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
