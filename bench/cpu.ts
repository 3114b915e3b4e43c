import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second. */
const tickMs = 10;

/** Whether this machine has `/proc`: without it the table has no CPU time and no memory. */
export const hasProc = process.platform === 'linux';

/** Returns the CPU time in ms of processes and the children that they have waited for; null without `/proc`. */
export function cpuMs(pids: readonly number[]): number | null {
  if (!hasProc) return null;
  return pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
}

/** Returns the CPU time in ms of a process and its running children: PostgreSQL has one for each connection. */
export function treeCpuMs(pid: number): number | null {
  if (!hasProc) return null;
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return cpuMs([pid, ...all.map(Number).filter((other) => Number(statOf(other)?.[1]) === pid)]);
}

/** Returns the CPU time in ms of the whole machine, to find out how much unrelated processes used. */
export function machineCpuMs(): number | null {
  if (!hasProc) return null;
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/\s+/);
  return [user, nice, system, irq, softirq].reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs;
}

/** Returns a process's resident memory in MB; null without `/proc`. */
export function rssMb(pid: number): number | null {
  if (!hasProc) return null;
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kib) / 1024);
}

function cpuOf(pid: number): number {
  const stat = statOf(pid);
  return stat ? [11, 12, 13, 14].reduce((sum, field) => sum + Number(stat[field]), 0) * tickMs : 0;
}

/** Returns the fields after the command, which may hold spaces; undefined for a process that has ended. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
