import type { LimitPolicy } from '../platform/limiter.js';

/** How often a minute a step of a second factor may be done; counted for each kind of person on its own, and apart from the hosted login's. */
export const mfaLimit = (who: 'admin' | 'identity', step: string, points: number): LimitPolicy => ({
  name: `${who}-mfa-${step}`,
  points,
  windowSeconds: 60,
});
