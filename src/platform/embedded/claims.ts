import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../start-error.js';
import { signalGroup } from './children.js';

/** A process, identified so that a later one with the same id is not mistaken for it. */
interface Process {
  pid: number;
  identity: string;
}

interface Owner extends Process {
  child?: Process;
}

export interface Claim {
  /** Records the process that works in the folder, so that the next start finds it if it outlives this process. */
  record(childPid: number): Promise<void>;
  release(): Promise<void>;
}

/** Another living process works in the folder. */
export class FolderInUse extends StartError {
  constructor(
    readonly folder: string,
    readonly pid: number,
  ) {
    super(`${folder} is in use by process ${pid}: Gatehouse already runs from here; stop it first`);
  }
}

const claimedHere = new Set<string>();

/**
 * Makes this process the only one that works in `folder`, which is created if missing. A claim whose process has ended
 * is taken over; a child that it left running is stopped first, with `stopSignal` and after 15 seconds by force.
 * @throws FolderInUse
 */
export async function claimFolder(folder: string, stopSignal: NodeJS.Signals = 'SIGTERM'): Promise<Claim> {
  const path = resolve(folder);
  const file = join(path, 'owner.json');
  await mkdir(path, { recursive: true });
  if (claimedHere.has(path)) throw new FolderInUse(path, process.pid);
  claimedHere.add(path);
  const me: Owner = { pid: process.pid, identity: identityOf(process.pid) ?? '' };
  try {
    while (!(await createOnce(file, me))) {
      const owner = await readOwner(file);
      // Our own process id in the file is a leftover: processes in a container get the same ids at every start.
      if (owner && owner.pid !== process.pid && isAlive(owner)) throw new FolderInUse(path, owner.pid);
      if (owner?.child && isAlive(owner.child)) await stopStranger(owner.child.pid, stopSignal);
      if (owner) await removeClaim(file, owner);
    }
  } catch (error) {
    claimedHere.delete(path);
    throw error;
  }
  return {
    async record(childPid) {
      const child = { pid: childPid, identity: identityOf(childPid) ?? '' };
      await writeFile(`${file}.new`, JSON.stringify({ ...me, child }));
      await rename(`${file}.new`, file);
    },
    async release() {
      claimedHere.delete(path);
      await rm(file, { force: true });
    },
  };
}

/**
 * Returns when a process started and with which command line: its id alone may belong to another process by now.
 * Undefined if there is no such process, or only a zombie.
 */
export function identityOf(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' };
      return execFileSync('ps', ['-o', 'lstart=,command=', '-p', String(pid)], { encoding: 'utf8', env }).trim();
    }
    // proc(5): the name in brackets may hold anything; after it the 1st field is the state, the 20th the start time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    if (fields[0] === 'Z') return undefined;
    return `${fields[19]} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()}`;
  } catch {
    return undefined;
  }
}

/** Stops a process that is not our child: with `signal`, and by force if it still runs after 15 seconds. */
export async function stopStranger(pid: number, signal: NodeJS.Signals): Promise<void> {
  const identity = identityOf(pid);
  const gone = () => identityOf(pid) !== identity;
  if (identity === undefined) return;
  signalGroup(pid, signal);
  for (let waited = 0; !gone() && waited < 15_000; waited += 50) await sleep(50);
  if (gone()) return;
  signalGroup(pid, 'SIGKILL');
  for (let waited = 0; !gone() && waited < 5000; waited += 50) await sleep(50);
  if (!gone()) throw new StartError(`process ${pid} of an earlier start cannot be stopped; end it by hand`);
}

function isAlive({ pid, identity }: Process): boolean {
  return identity !== '' && identityOf(pid) === identity;
}

/** Returns null if there is no claim. A half-written one is read again twice, then treated as nobody's. */
async function readOwner(file: string): Promise<Owner | null> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const text = await readFile(file, 'utf8').catch(() => null);
    if (text === null) return null;
    try {
      return JSON.parse(text) as Owner;
    } catch {
      await sleep(100);
    }
  }
  return { pid: 0, identity: '' };
}

/** Removes the claim only if it is still that of `owner`: another process may just have taken it over. */
async function removeClaim(file: string, owner: Owner): Promise<void> {
  const aside = `${file}.${process.pid}`;
  await rename(file, aside).catch(() => {});
  const removed = await readOwner(aside);
  if (removed && removed.identity !== owner.identity) await rename(aside, file);
  await rm(aside, { force: true });
}

async function createOnce(file: string, owner: Owner): Promise<boolean> {
  try {
    await writeFile(file, JSON.stringify(owner), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
