import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Runs `work` while everything that nobody holds is collected, time and again. */
export async function amidCollections<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const timer = setInterval(collect, 50);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
