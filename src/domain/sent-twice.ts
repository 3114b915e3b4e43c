import { minutes } from '../platform/clock.js';

/** How long what comes once more for the same thing is taken for the same form, sent twice: by a double click, or by somebody impatient. */
export const sentTwiceWithin = minutes(1);

/** Whether something was done so short a time ago that a form which asks for it is the one that did it. */
export const wasJustDone = (doneAt: Date | null, now: Date): boolean =>
  doneAt !== null && now.getTime() - doneAt.getTime() < sentTwiceWithin;
