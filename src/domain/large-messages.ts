import { seconds } from '../platform/clock.js';
import { largeMessagesRefused } from '../platform/metrics/metrics.js';
import { createFairQueue, type Turns } from './fair-queue.js';

/** Answers that are in memory until they are sent; each may be some 50 MB (`longestInTree`). */
const answersAtOnce = 6;
/** Bodies of several megabytes that are read and worked on: each takes seconds, and some 50 MB. */
const bodiesAtOnce = 4;
const longest = 100;

/** Turns in this process, each as long as the request: of answers that are kept until they are sent, be their readers ever so slow, and of large bodies, from before they are read on. */
export const createLargeMessages = () => ({ heavyAnswers: turnsOf(answersAtOnce), largeBodies: turnsOf(bodiesAtOnce) });

/** No Account has more than half of them. */
const turnsOf = (most: number): Turns =>
  createFairQueue(most, {
    longest,
    mostOfEach: most / 2,
    longestOfEach: longest / 2,
    withinMs: seconds(5),
    onRefused: () => largeMessagesRefused.inc(),
  });
