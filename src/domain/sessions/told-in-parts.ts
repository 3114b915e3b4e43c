import { partsOf } from '../../platform/parts.js';

/** How many sessions one event names, and how many of one person's have an audit row each. */
const most = 500;

/** Sessions as events name them: somebody signed in 45 000 times would have one of megabytes, for each webhook too (0099). */
export const inParts = <T>(sessions: readonly T[]): T[][] => partsOf(sessions, most);

/** The youngest of somebody's sessions: of the others only the events tell that name many. */
export const youngest = (ids: readonly string[]): string[] =>
  ids.length <= most ? [...ids] : ids.toSorted().slice(-most);
