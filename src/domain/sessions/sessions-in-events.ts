import { partsOf } from '../../platform/parts.js';

/** The most sessions that one event names, and of one person the most with an audit row each. */
const maxSessions = 500;

/**
 * Returns sessions in portions for events: for a person who signed in 45 000 times, a single event would have
 * megabytes, for each webhook too (0099).
 */
export const inParts = <T>(sessions: readonly T[]): T[][] => partsOf(sessions, maxSessions);

/** Returns the newest of a person's sessions; the others are only named by the events for many. */
export const newest = (ids: readonly string[]): string[] =>
  ids.length <= maxSessions ? [...ids] : ids.toSorted().slice(-maxSessions);
