import type { Measurement } from './closed-loop.js';

/** What a young process is given before it is measured. */
export interface WarmUp {
  /** After so many of an operation its code is compiled as well as it will be. */
  operations: number;
  /** A slow operation is not waited for any longer, in ms. */
  atMost: number;
  /** How long each look lasts, in ms. */
  step: number;
}

/**
 * Has an operation done until its code is compiled: a sign-in takes a young process twice the CPU of its thousandth, and whoever
 * measures the first hundred measures the compiler.
 * @param load runs it for so many ms
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
