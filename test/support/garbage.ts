import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Runs `work` while everything that nobody holds is collected, time and again. A collection stops the process, for longer than a
 * second where the machine is busy, so each is followed by a pause of four times as long, in which what waits for an answer gets it.
 */
export async function amidCollections<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const again = () => {
    const began = performance.now();
    collect();
    timer = setTimeout(again, Math.max(50, 4 * (performance.now() - began)));
  };
  let timer = setTimeout(again, 50);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
