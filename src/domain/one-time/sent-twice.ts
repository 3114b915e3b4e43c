import { minutes } from '../../platform/clock.js';

/**
 * A second identical form within this time counts as a double click: it is answered like the first and does nothing.
 */
export const sentTwiceWithin = minutes(1);

/** Returns whether something was done so recently that a form that requests it is taken for the one that did it. */
export const wasJustDone = (doneAt: Date | null, now: Date): boolean =>
  doneAt !== null && now.getTime() - doneAt.getTime() < sentTwiceWithin;
