import { seconds } from '../platform/clock.js';
import { largeMessagesRefused } from '../platform/metrics.js';
import { inTurns, type Turns } from './turns.js';

/** Answers that are in memory until they are sent; each may be some 50 MB (`longestInTree`). */
const answersAtOnce = 6;
/** Bodies of several megabytes that are read and worked on: each takes seconds, and some 50 MB. */
const bodiesAtOnce = 4;
const longest = 100;

/** Turns of answers that are in memory for as long as they are sent, be their readers ever so slow. In this process alone. */
export const createHeavyAnswers = (): Turns => turnsOf(answersAtOnce);

/** Turns of requests whose bodies are large, from before they are read on. */
export const createLargeBodies = (): Turns => turnsOf(bodiesAtOnce);

/** No Account has more than half of them. */
const turnsOf = (most: number): Turns =>
  inTurns(most, {
    longest,
    mostOfEach: most / 2,
    longestOfEach: longest / 2,
    withinMs: seconds(5),
    onRefused: () => largeMessagesRefused.inc(),
  });
