import { Gauge, type Registry } from 'prom-client';
import { probeWithinMs } from './database/db.js';

export type PartState = 'ok' | 'unavailable' | 'outdated';
/** The state of each part that a process needs, by its name; a check that throws says `unavailable`. */
export type ReadinessChecks = Record<string, () => Promise<PartState>>;

/** Returns the state of every part, in the order of the checks. */
export async function statesOf(checks: ReadinessChecks): Promise<Record<string, PartState>> {
  const states = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await inTime(check)] as const),
  );
  return Object.fromEntries(states);
}

async function inTime(check: () => Promise<PartState>): Promise<PartState> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<PartState>((resolve) => {
    timer = setTimeout(resolve, probeWithinMs, 'unavailable'); // the part does not answer
  });
  return Promise.race([check(), late])
    .catch((): PartState => 'unavailable')
    .finally(() => clearTimeout(timer));
}

/** Registers a gauge of what `/readyz` says: Prometheus reads no JSON, and nobody else may look at a worker's. */
export function watchReadiness(registry: Registry, checks: ReadinessChecks): void {
  new Gauge({
    name: 'gatehouse_readiness',
    help: '1 if a part that the process needs is ready, otherwise 0, as at `/readyz`.',
    labelNames: ['check'],
    registers: [registry],
    async collect() {
      for (const [check, state] of Object.entries(await statesOf(checks))) this.set({ check }, state === 'ok' ? 1 : 0);
    },
  });
}
