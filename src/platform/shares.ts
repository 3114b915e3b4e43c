/**
 * Counts what each of many does at once, so that none has more than a share of a process. In this process alone: nothing of it
 * has to outlive it.
 */
export function createShares(most: number) {
  const running = new Map<string, number>();
  return {
    isFull: (key: string): boolean => (running.get(key) ?? 0) >= most,
    /** Whoever enters leaves once. It asks nobody whether there is room. */
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
