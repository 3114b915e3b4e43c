import { setTimeout as sleep } from 'node:timers/promises';
import { descendantsOf } from '../../support/chaos/processes.js';
import type { Part } from '../../support/parts.js';
import type { Service } from '../../support/service.js';
import type { Fault, PartName } from './plan.js';
import type { TemporalWatch } from './temporal-watch.js';

/** A fault as it really happened; times are milliseconds since the load began. */
export interface Disruption extends Fault {
  /** The time during which something was down. */
  fromMs: number;
  untilMs: number;
}

/** In the order in which they can start: nothing starts without its database. */
const order: readonly PartName[] = ['PostgreSQL', 'Temporal', 'api 1', 'api 2', 'worker 1', 'worker 2'];

export const partsOf = ({ apis, workers, temporal, postgres }: Service): Record<PartName, Part> => ({
  'api 1': apis[0] as Part,
  'api 2': apis[1] as Part,
  'worker 1': workers[0] as Part,
  'worker 2': workers[1] as Part,
  Temporal: temporal,
  PostgreSQL: postgres,
});

/**
 * Carries out a plan; afterwards everything runs.
 * @param say called with each fault as it begins
 */
export async function disrupt(
  service: Service,
  plan: readonly Fault[],
  { say, find, temporal }: { say(line: string): void; find(what: string): void; temporal: TemporalWatch },
): Promise<Disruption[]> {
  const parts = partsOf(service);
  const begunAt = Date.now();
  const done: Disruption[] = [];
  for (const fault of plan) {
    await sleep(fault.afterMs);
    for (const name of order) if (!isAlive(parts[name].pid)) find(`${name} ended by itself`);
    const fromMs = Date.now() - begunAt;
    say(`${(fromMs / 1000).toFixed(0)} s: ${fault.signal} ${fault.parts.join(' and ')} for ${fault.downMs / 1000} s`);
    const names = order.filter((name) => fault.parts.includes(name));
    const carryOut = () =>
      fault.signal === 'SIGKILL'
        ? killed(
            names.map((name) => parts[name]),
            fault.downMs,
          )
        : halted(
            names.map((name) => parts[name].pid),
            fault.downMs,
          );
    await (names.includes('Temporal') ? temporal.exclusively(carryOut) : carryOut());
    done.push({ ...fault, fromMs, untilMs: Date.now() - begunAt });
  }
  return done;
}

async function killed(parts: Part[], downMs: number): Promise<void> {
  await Promise.all(parts.map((part) => part.kill('SIGKILL')));
  await sleep(downMs);
  for (const part of parts) await part.start();
}

/** Halts all of PostgreSQL's processes; its postmaster, halted as well, starts no more. */
async function halted(pids: number[], downMs: number): Promise<void> {
  const signal = (all: number[], name: NodeJS.Signals) => {
    for (const pid of all) {
      try {
        process.kill(pid, name);
      } catch {
        // ended meanwhile
      }
    }
  };
  signal(pids, 'SIGSTOP');
  const children = pids.flatMap((pid) => descendantsOf(pid).map((child) => child.pid));
  signal(children, 'SIGSTOP');
  try {
    await sleep(downMs);
  } finally {
    signal([...children, ...pids], 'SIGCONT');
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
