import type { AdminCaller, Caller } from '../../domain/caller.js';

/** Who calls an operation that only the Portal has: its surface lets nobody else in. */
export const administrator = (caller: Caller): AdminCaller => caller as AdminCaller;
