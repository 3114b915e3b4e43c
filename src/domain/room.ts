import type { EntityManager } from 'typeorm';
import { oneAtATime } from '../platform/one-at-a-time.js';
import { DomainError, type ErrorCode } from './errors.js';

interface Room {
  /** What is counted, and whose it is. */
  of: string;
  most: number;
  count: () => Promise<number>;
  code: ErrorCode;
}

/** One after the other, so that together they do not make more than there can be. @throws DomainError with the code where there is no room */
export async function assertRoom(tx: EntityManager, { of, most, count, code }: Room): Promise<void> {
  await oneAtATime(tx, of);
  if ((await count()) >= most) throw new DomainError(code);
}
