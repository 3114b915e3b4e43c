import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second. */
const tickMs = 10;

/** Whether this machine has `/proc`: elsewhere CPU and memory are left out of the table. */
export const hasProc = process.platform === 'linux';

/** CPU time in ms that processes have used, with the children that they have waited for; null without `/proc`. */
export function cpuMs(pids: readonly number[]): number | null {
  if (!hasProc) return null;
  return pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
}

/** The same for processes and their living children: PostgreSQL has one for each connection. */
export function treeCpuMs(pid: number): number | null {
  if (!hasProc) return null;
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return cpuMs([pid, ...all.map(Number).filter((other) => Number(statOf(other)?.[1]) === pid)]);
}

/** CPU time in ms that the whole machine has used, to tell how much of it was somebody else's. */
export function machineCpuMs(): number | null {
  if (!hasProc) return null;
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/\s+/);
  return [user, nice, system, irq, softirq].reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs;
}

/** Resident memory in MB; null without `/proc`. */
export function rssMb(pid: number): number | null {
  if (!hasProc) return null;
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kib) / 1024);
}

function cpuOf(pid: number): number {
  const stat = statOf(pid);
  return stat ? [11, 12, 13, 14].reduce((sum, field) => sum + Number(stat[field]), 0) * tickMs : 0;
}

/** The fields after the command, which may hold spaces; undefined for a process that has ended. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
