import { hours, minutes } from '../../platform/clock.js';

/** How long an answer is waited for: long enough to sign in at a provider, with a phone to fetch. */
export const requestLife = minutes(10);

/**
 * How long it is known what a sign-in was for: whoever comes back too late, but within this, is sent away once more. Housekeeping keeps
 * the rows for longer.
 */
export const rememberedFor = hours(1);
