import type { Measurement } from './closed-loop.js';

/** The limits of the warm-up of a new process before it is measured. */
export interface WarmUp {
  /** After so many operations the code is fully compiled. */
  operations: number;
  /** The longest time for a slow operation, in ms. */
  atMost: number;
  /** The length of each step, in ms. */
  step: number;
}

/**
 * Repeats an operation until its code is compiled: the first sign-in of a process takes twice the CPU time of its
 * thousandth, so the first hundred would measure the compiler.
 * @param load runs the operation for `ms` milliseconds
 */
export async function warmUp(
  load: (ms: number) => Promise<Pick<Measurement, 'perSecond' | 'errors'>>,
  { operations, atMost, step }: WarmUp,
): Promise<void> {
  const end = performance.now() + atMost;
  for (let done = 0; ; ) {
    const { perSecond, errors } = await load(step);
    done += (perSecond * step) / 1000;
    if (done >= operations || errors > 0 || performance.now() >= end) return;
  }
}
