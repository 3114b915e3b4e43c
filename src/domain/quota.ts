import type { EntityManager } from 'typeorm';
import { lockExclusively } from '../platform/database/advisory-locks.js';
import { DomainError, type ErrorCode } from './errors.js';

interface Room {
  /** What is counted, and whose it is. */
  of: string;
  most: number;
  count: () => Promise<number>;
  code: ErrorCode;
}

/** One after the other, so that together they do not make more than there can be. @throws DomainError with the code where there is no room */
export async function assertWithinQuota(tx: EntityManager, { of, most, count, code }: Room): Promise<void> {
  await lockExclusively(tx, of);
  if ((await count()) >= most) throw new DomainError(code);
}
