import { hasCondition } from './postgres-errors.js';

/** Often enough for one that is deleted under full traffic. */
const attempts = 8;

/**
 * Deleting an Environment, or an organization, takes the locks of running sign-ins in another order than they do, and so do a directory and who comes
 * into its organization, a node that moves with all below it, and whoever removes a person whom somebody else is letting in. PostgreSQL then ends one of the two transactions; where it is this one,
 * nothing has happened and it is run again.
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
