import { partsOf } from '../../platform/parts.js';

/** The most sessions that one event names, and of one person the most with an audit row each. */
const most = 500;

/**
 * Sessions in portions for events: for somebody who signed in 45 000 times, a single one would have megabytes, for each
 * webhook too (0099).
 */
export const inParts = <T>(sessions: readonly T[]): T[][] => partsOf(sessions, most);

/** The newest of somebody's sessions; the others are only named by the events for many. */
export const youngest = (ids: readonly string[]): string[] =>
  ids.length <= most ? [...ids] : ids.toSorted().slice(-most);
