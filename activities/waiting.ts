/** How long a process waits until it looks again, in milliseconds by the clock of the worker that says what is due. */
export type Waiting<Look> = Look & { waitMs?: number };

/** @param at when to look again, in ISO 8601; null where there is nothing to wait for */
export const withWait = <Look extends object>(look: Look, at: string | null): Waiting<Look> =>
  at === null ? look : { ...look, waitMs: Math.max(0, Date.parse(at) - Date.now()) };
