import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Runs `work` while garbage is collected repeatedly. On a busy machine a collection stops the process for more than a
 * second, so a pause of four times as long follows each one, in which pending calls get their answers.
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
