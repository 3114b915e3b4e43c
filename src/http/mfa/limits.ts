import type { LimitPolicy } from '../../platform/limiter.js';

/**
 * The limit per minute for one step of a second factor. Administrators and end users are counted separately, and both
 * apart from the hosted login.
 */
export const mfaLimit = (who: 'admin' | 'identity', step: string, points: number): LimitPolicy => ({
  name: `${who}-mfa-${step}`,
  points,
  windowSeconds: 60,
});
