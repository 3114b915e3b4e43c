import type { Sealing } from './sealing.js';

/** Opens sealed JSON; returns null if it was sealed by an unknown key, for another context, or by somebody else. */
export function openSealedJson<T>(sealing: Pick<Sealing, 'open'>, sealed: string, context: string): T | null {
  try {
    return JSON.parse(sealing.open(sealed, context));
  } catch {
    return null;
  }
}
