/** A wait that can be cut short: `wait` resolves at the next `wake`, or one since the last wait, or after `ms`. */
export function createWakeUp() {
  let isWoken = false;
  let answer = () => {};
  return {
    wake(): void {
      isWoken = true;
      answer();
    },
    async wait(ms: number): Promise<void> {
      if (!isWoken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          answer = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      isWoken = false;
    },
  };
}
