import type { EntityManager } from 'typeorm';
import { Erasure } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import { DomainError } from '../errors.js';

/** Whoever joins while everything of them is being deleted would be deleted too; the lock waits for who asks for that. */
export async function assertStays(tx: EntityManager, { accountId, id }: Identity): Promise<void> {
  const lock = { mode: 'pessimistic_read' } as const;
  const there = await tx.findOne(Identity, { where: { accountId, id }, select: { id: true }, lock });
  const goes = await tx.existsBy(Erasure, { accountId, identityId: id, status: 'running' });
  if (!there || goes) throw new DomainError('identity.email_taken');
}
