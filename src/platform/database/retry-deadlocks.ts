import { hasCondition } from './postgres-errors.js';

/** Enough for an Environment that is deleted under full traffic. */
const attempts = 8;

/**
 * Runs a transaction again that PostgreSQL has ended because of a deadlock; nothing of it has happened. Deadlocks come
 * up where locks cannot be taken in one order: deleting an Environment or an organization beside running sign-ins, a
 * directory beside somebody who comes into its organization, moving a node with everything below it, and removing a
 * person whom somebody else is letting in.
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
