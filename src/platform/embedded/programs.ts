import { accessSync, constants } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectRoot } from '../root.js';
import { claimFolder, FolderInUse } from './claims.js';

/** Returns the first executable of that name on the PATH. */
export function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => resolve(folder, name)).find(isExecutable);
}

/** Returns whether there is a file at the path that this process may execute. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the folder `name` of the user's cache or, for a user without a home, of the checkout's. It must be writable
 * unless it already holds all `programs`.
 */
export async function cacheFolder(name: string, programs: readonly string[]): Promise<string> {
  const user = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(user, 'gatehouse', name);
  try {
    await mkdir(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    if (programs.every((program) => isExecutable(join(folder, program)))) return folder;
    const own = join(projectRoot, '.cache', 'gatehouse', name);
    await mkdir(own, { recursive: true });
    return own;
  }
}

interface Fill<T> {
  /** The name for progress messages: `the Temporal CLI`. */
  what: string;
  /** Returns what the cache holds already; null if that is missing or unusable. */
  look(): Promise<T | null>;
  fill(): Promise<T>;
  onProgress: (line: string) => void;
}

/** Fills the cache in one process, while the others wait for its result. */
export async function filledOnce<T>(cache: string, { what, look, fill, onProgress }: Fill<T>): Promise<T> {
  for (let waited = 0; ; waited++) {
    try {
      const claim = await claimFolder(cache);
      try {
        const there = await look();
        if (there !== null) return there;
        await clearDrafts(cache);
        return await fill();
      } finally {
        await claim.release();
      }
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error;
      if (waited % 30 === 0) onProgress(`Waiting for process ${error.pid}, which is getting ${what}`);
      await sleep(1000);
    }
  }
}

/** Deletes what an interrupted start left. The caller holds the claim of the folder. */
async function clearDrafts(cache: string): Promise<void> {
  const drafts = (await readdir(cache)).filter((name) => /^(temporal.*\.new|download-.*)$/.test(name));
  await Promise.all(drafts.map((name) => rm(join(cache, name), { recursive: true, force: true })));
}
