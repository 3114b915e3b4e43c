import { seconds } from '../../platform/clock.js';
import { largeMessagesRefused } from '../../platform/metrics/metrics.js';
import { createFairQueue, type FairQueue } from './fair-queue.js';

/** The most responses that are in memory at once until they are sent; each may have some 50 MB (`maxLengthInTree`). */
const answersAtOnce = 6;
/** The most bodies of several megabytes that are processed at once: each takes seconds, and some 50 MB. */
const bodiesAtOnce = 4;
const maxQueued = 100;

/**
 * Creates turns in this process that last as long as a request: for responses that stay in memory until they are sent,
 * however slow their readers, and for large bodies, from before they are read.
 */
export const createLargeMessages = () => ({
  heavyAnswers: queueFor(answersAtOnce),
  largeBodies: queueFor(bodiesAtOnce),
});

/** No Account gets more than half of the turns. */
const queueFor = (maxRunning: number): FairQueue =>
  createFairQueue(maxRunning, {
    maxQueued,
    maxRunningOfEach: maxRunning / 2,
    maxQueuedOfEach: maxQueued / 2,
    withinMs: seconds(5),
    onRefused: () => largeMessagesRefused.inc(),
  });
