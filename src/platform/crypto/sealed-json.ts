import type { Sealing } from './sealing.js';

/** What was sealed as JSON; null for what was sealed by another key, for another context, or by another hand. */
export function openSealedJson<T>(sealing: Pick<Sealing, 'open'>, sealed: string, context: string): T | null {
  try {
    return JSON.parse(sealing.open(sealed, context));
  } catch {
    return null;
  }
}
