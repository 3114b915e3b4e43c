/**
 * Counts how much each key has running at once, so that none gets more than its share of a process. The counts are in
 * this process's memory alone: they need not outlive it.
 * @param maxOfEach the share of each key, where `isFull` is not told another
 */
export function createShares(maxOfEach: number) {
  const running = new Map<string, number>();
  return {
    isFull: (key: string, share = maxOfEach): boolean => (running.get(key) ?? 0) >= share,
    /** Counts one more for `key`, without checking `isFull`. Call the returned function once, to count it off again. */
    enter(key: string): () => void {
      running.set(key, (running.get(key) ?? 0) + 1);
      return () => {
        const left = (running.get(key) ?? 0) - 1;
        if (left > 0) running.set(key, left);
        else running.delete(key);
      };
    },
  };
}
