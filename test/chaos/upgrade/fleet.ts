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

/** Time for a load balancer to send nobody to an api any more that is about to end, in milliseconds. */
const drainedWithinMs = 1_000;

export type Fleet = ReturnType<typeof createFleet>;

/**
 * Apis and workers of two versions, which come and go as an orchestrator has them.
 * @param find told of one that does not end as it should
 */
export function createFleet({ settings, stopped }: Surroundings, find: (what: string) => void) {
  const members: Member[] = [];
  /** Of the apis that the load balancer knows. */
  const origins: string[] = [];
  /** Which version a process was of, by its id. */
  const versionOf = new Map<number, Version['name']>();
  /** What those said that are gone. */
  const lines: string[] = [];

  return {
    members,
    origins,
    versionOf,
    lines: (): string[] => [...lines, ...members.flatMap(({ part }) => part.lines)],
    parts: (role: Role): StoppablePart[] => members.filter((one) => one.role === role).map(({ part }) => part),

    /** Starts one, and sends it work once it is ready. */
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

    /** Takes the oldest of them away as an orchestrator does: no new work, then SIGTERM. */
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

/** The processes that there are at the time of asking. */
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
