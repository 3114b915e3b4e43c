import { minutes } from '../../platform/clock.js';

/** How old the recorded last use of a session may be, in milliseconds: a session in use costs one write in that time. */
export const maxLastUseAgeMs = minutes(1);

/**
 * SQL: the moment at which a session ends by itself: at the end of its time, or after it was unused for as long as its
 * Environment says. An older release does not record uses; then the sign-in counts as one.
 * @param session alias of a row of `sessions`
 * @param idleSeconds of the Environment; null: however long it is unused
 */
export const openUntil = (session: string, idleSeconds: string) =>
  `least(${session}.expires_at, ${lastUse(session)} + make_interval(secs => ${idleSeconds}))`;

export const lastUse = (session: string) => `greatest(${session}.used_at, ${session}.authenticated_at)`;

/** The limit, where only the Environment's id is at hand. */
export const idleSecondsOf = (environmentId: string) =>
  `(select session_idle_ttl_seconds from environment_settings where environment_id = ${environmentId})`;
