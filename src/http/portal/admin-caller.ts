import type { AdminCaller, Caller } from '../../domain/caller.js';

/** Who calls an operation that only the Portal has. Its surface lets nobody else in: whoever comes here otherwise is a mistake of ours. */
export function adminCallerOf(caller: Caller): AdminCaller {
  if (caller.type !== 'platform_admin') throw new Error(`an operation of the Portal was called by ${caller.type}`);
  return caller;
}
