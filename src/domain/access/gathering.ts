import { isOutage } from '../../platform/db.js';
import type { Check, Decision } from './evaluate.js';

/** Asks about several checks of one Environment at once, in their order. */
export type Ask = (environmentId: string, checks: readonly Check[]) => Promise<Decision[]>;

/** As many statements of one Environment are under way; what comes meanwhile waits for the first of them, and goes as one. */
const mostUnderWay = 2;
const mostTogether = 200;

interface Waiting {
  checks: readonly Check[];
  resolve(decisions: Decision[]): void;
  reject(error: unknown): void;
}
interface Gathered {
  waiting: Waiting[];
  underWay: number;
  isScheduled: boolean;
}

/**
 * Has requests that come at the same time share a statement. None waits for others to come: what arrived in one turn of the
 * event loop goes together, and what arrives while statements are under way goes with the next. A decision is never older
 * than its question: each is asked after it was put.
 */
export function createGathering(ask: Ask): Ask {
  const environments = new Map<string, Gathered>();

  function schedule(environmentId: string, gathered: Gathered): void {
    if (gathered.isScheduled || gathered.underWay >= mostUnderWay) return;
    gathered.isScheduled = true;
    setImmediate(() => {
      gathered.isScheduled = false;
      void send(environmentId, gathered);
    });
  }

  async function send(environmentId: string, gathered: Gathered): Promise<void> {
    const together = gathered.waiting.splice(0, mostTogether);
    gathered.underWay++;
    if (gathered.waiting.length > 0) schedule(environmentId, gathered);
    await answer(environmentId, together);
    gathered.underWay--;
    if (gathered.waiting.length > 0) schedule(environmentId, gathered);
    else if (gathered.underWay === 0 && !gathered.isScheduled) environments.delete(environmentId);
  }

  async function answer(environmentId: string, together: readonly Waiting[]): Promise<void> {
    try {
      const decisions = await ask(
        environmentId,
        together.flatMap(({ checks }) => checks),
      );
      let from = 0;
      for (const { checks, resolve } of together) {
        resolve(decisions.slice(from, from + checks.length));
        from += checks.length;
      }
    } catch (error) {
      // What PostgreSQL refuses of one (a character that it cannot hold) is not to spoil the others.
      if (together.length === 1 || isOutage(error)) for (const { reject } of together) reject(error);
      else for (const { checks, resolve, reject } of together) ask(environmentId, checks).then(resolve, reject);
    }
  }

  return (environmentId, checks) =>
    new Promise((resolve, reject) => {
      let gathered = environments.get(environmentId);
      if (!gathered) {
        gathered = { waiting: [], underWay: 0, isScheduled: false };
        environments.set(environmentId, gathered);
      }
      gathered.waiting.push({ checks, resolve, reject });
      schedule(environmentId, gathered);
    });
}
