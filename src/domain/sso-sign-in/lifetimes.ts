import { hours, minutes } from '../../platform/clock.js';

/** How long a provider's answer is accepted: long enough to sign in there, with a phone to fetch. */
export const requestLife = minutes(10);

/**
 * How long a request is remembered: within this time, a person who comes back too late is sent to the provider again.
 * Housekeeping keeps the rows for longer.
 */
export const rememberedFor = hours(1);
