/** Somebody who sleeps and can be woken: `wait` answers at the next `wake`, at once if one came since the last wait, or in time. */
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
