import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../src/platform/embedded/ports.js';
import type { Service, Surroundings } from '../../support/service.js';
import { type ProcessPart, type StoppablePart, startApi, startWorker } from '../../support/service-processes.js';
import type { Version } from './versions.js';

type Role = 'api' | 'worker';

export interface Member {
  role: Role;
  version: Version['name'];
  part: StoppablePart;
}

/** Milliseconds for a load balancer to stop sending requests to an api that is about to end. */
const drainedWithinMs = 1_000;

export type Fleet = ReturnType<typeof createFleet>;

/**
 * Manages apis and workers of two versions, which come and go as with an orchestrator.
 * @param find called with a process that does not end as it should
 */
export function createFleet({ settings, stopped }: Surroundings, find: (what: string) => void) {
  const members: Member[] = [];
  /** Origins of the apis that the load balancer knows. */
  const origins: string[] = [];
  /** The version of each process, by its id. */
  const versionOf = new Map<number, Version['name']>();
  /** Output of ended processes. */
  const lines: string[] = [];

  return {
    members,
    origins,
    versionOf,
    lines: (): string[] => [...lines, ...members.flatMap(({ part }) => part.lines)],
    parts: (role: Role): StoppablePart[] => members.filter((one) => one.role === role).map(({ part }) => part),

    /** Starts a process, and sends it work once it is ready. */
    async add(role: Role, { name: version, root }: Version): Promise<void> {
      const part = stopped(
        role === 'api'
          ? await startApi({ ...settings, PORT: String(await freePort()) }, root)
          : await startWorker(settings, root),
      );
      members.push({ role, version, part });
      versionOf.set(part.pid, version);
      if (role === 'api') origins.push(part.healthUrl);
    },

    /** Removes the oldest process as an orchestrator does: no new work, then SIGTERM. */
    async remove(role: Role, { name: version }: Version): Promise<void> {
      const member = members.find((one) => one.role === role && one.version === version);
      if (!member) throw new Error(`There is no ${version} ${role} to take away`);
      members.splice(members.indexOf(member), 1);
      const { part } = member;
      if (role === 'api') {
        origins.splice(origins.indexOf(part.healthUrl), 1);
        await sleep(drainedWithinMs);
      }
      const exit = await part.kill('SIGTERM');
      lines.push(...part.lines);
      if (exit?.code !== 0) find(`the ${version} ${role} ended with ${exit?.code ?? exit?.signal} after SIGTERM`);
    },
  };
}

/** Returns the current processes. */
export const serviceOf = (around: Surroundings, fleet: Fleet): Service => ({
  ...around,
  get api() {
    return fleet.parts('api')[0] as ProcessPart;
  },
  get worker() {
    return fleet.parts('worker')[0] as ProcessPart;
  },
  get apis() {
    return fleet.parts('api');
  },
  get workers() {
    return fleet.parts('worker');
  },
});
