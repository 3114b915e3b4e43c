import type { EntityManager } from 'typeorm';
import { lockExclusively } from '../../platform/database/advisory-locks.js';
import { DomainError, type ErrorCode } from '../errors.js';

interface Room {
  /** What is counted, and for whom: the key of the lock. */
  of: string;
  max: number;
  count: () => Promise<number>;
  code: ErrorCode;
}

/**
 * Checks a quota. Callers queue, so that together they cannot exceed it.
 * @throws DomainError with the code if it is used up
 */
export async function assertWithinQuota(tx: EntityManager, { of, max, count, code }: Room): Promise<void> {
  await lockExclusively(tx, of);
  if ((await count()) >= max) throw new DomainError(code);
}
