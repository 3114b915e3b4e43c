/** A look at a row, with the milliseconds until the next one, by the clock of the worker that looked. */
export type Waiting<Look> = Look & { waitMs?: number };

/** @param at when to look again, in ISO 8601; null if there is nothing to wait for */
export const withWait = <Look extends object>(look: Look, at: string | null): Waiting<Look> =>
  at === null ? look : { ...look, waitMs: Math.max(0, Date.parse(at) - Date.now()) };
