/** Random histories: sequences of steps after each of which a test compares the service with a small model of it. */

/** Returns the seeds to test with; `RANDOM_SEEDS=11,12` replaces them, to look for what they do not find. */
export const seedsOf = (...usual: number[]): number[] => process.env.RANDOM_SEEDS?.split(',').map(Number) ?? usual;

/** Returns each step as often as its weight says, to draw from. */
export const byWeight = <Step>(steps: readonly (readonly [weight: number, step: Step])[]): Step[] =>
  steps.flatMap(([weight, step]) => Array.from({ length: weight }, () => step));

/**
 * Takes the steps of a history.
 * @param length how many; `RANDOM_STEPS` replaces it
 * @param step `tell` is given a line about it before it begins
 * @throws what a step throws, with the seed and the last lines in its message
 */
export async function live(
  seed: number,
  length: number,
  step: (tell: (line: string) => void, isLast: boolean) => Promise<void>,
): Promise<void> {
  const steps = Number(process.env.RANDOM_STEPS ?? length);
  const story: string[] = [];
  for (let i = 0; i < steps; i++) {
    try {
      await step((line) => story.push(line), i === steps - 1);
    } catch (error) {
      (error as Error).message += `\nseed ${seed}, step ${i}:\n${story.slice(-15).join('\n')}`;
      throw error;
    }
  }
}
