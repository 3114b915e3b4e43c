/** The only source of the current time in the domain rules, so that tests can move it. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();

export const seconds = (count: number): number => count * 1000;
export const minutes = (count: number): number => count * 60_000;
export const hours = (count: number): number => count * 3_600_000;
export const days = (count: number): number => count * 86_400_000;
/** How far another party's clock may be from ours, ahead or behind (docs/decisions/0078). */
export const clockSkewMs = minutes(1);
/** Returns whole seconds since 1970, the form of a time in tokens and signatures (RFC 7519 §2). */
export const epochSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);
/** Returns the date `ms` milliseconds after `date`. */
export const after = (date: Date, ms: number): Date => new Date(date.getTime() + ms);
