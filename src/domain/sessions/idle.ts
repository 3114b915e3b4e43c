import { minutes } from '../../platform/clock.js';

/** How old the last use that is written down may be: a session in use costs one write in that time. */
export const usesKeptEvery = minutes(1);

/**
 * SQL of the moment at which a session ends by itself: when its time is over, or when nobody has used it for as long as its
 * Environment says. A release before does not write uses down, so that the sign-in counts as one.
 * @param session alias of a row of `sessions`
 * @param idleSeconds of the Environment; null: however long it is unused
 */
export const openUntil = (session: string, idleSeconds: string) =>
  `least(${session}.expires_at, ${lastUse(session)} + make_interval(secs => ${idleSeconds}))`;

export const lastUse = (session: string) => `greatest(${session}.used_at, ${session}.authenticated_at)`;

/** The limit where only the Environment's id is at hand. */
export const idleSecondsOf = (environmentId: string) =>
  `(select session_idle_ttl_seconds from environment_settings where environment_id = ${environmentId})`;
