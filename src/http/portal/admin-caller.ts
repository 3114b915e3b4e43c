import type { AdminCaller, Caller } from '../../domain/caller.js';

/**
 * Returns the administrator who calls an operation of the Portal. The Portal's surface admits no other callers, so any
 * other one is a bug, and an error without a code.
 */
export function adminCallerOf(caller: Caller): AdminCaller {
  if (caller.type !== 'platform_admin') throw new Error(`an operation of the Portal was called by ${caller.type}`);
  return caller;
}
