import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 100;

/**
 * Looks every tenth of a second until a condition holds or the time is over: for something that another request or
 * process is about to finish.
 * @returns the result of the last look
 */
export async function pollUntil<Seen>(
  look: () => Promise<Seen>,
  isSo: (seen: Seen) => boolean,
  { seconds }: { seconds: number },
): Promise<Seen> {
  let seen = await look();
  for (let pauses = (seconds * 1000) / pauseMs; pauses > 0 && !isSo(seen); pauses--) {
    await sleep(pauseMs);
    seen = await look();
  }
  return seen;
}
