import { hasCondition } from './postgres-errors.js';

/** Enough for an Environment that is deleted under full traffic. */
const attempts = 8;

/**
 * Retries a transaction that PostgreSQL has rolled back because of a deadlock. Deadlocks occur where locks cannot be
 * taken in one order: when an Environment or an organization is deleted during sign-ins, a directory changes while
 * somebody joins its organization, a node moves with everything below it, or a person is removed whom somebody else is
 * admitting.
 */
export async function retryingDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!hasCondition(error, 'deadlock_detected') || attempt === attempts) throw error;
    }
  }
}
