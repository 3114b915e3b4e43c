import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimFolder } from '../../src/platform/embedded/claims.js';

/** A memory file system (tmpfs) on Linux. */
const memory = '/dev/shm';
/** The space that the server may need: copies of the template, and WAL until the next checkpoint. */
const neededBytes = 4 * 2 ** 30;
const prefix = 'gatehouse-test-';

/**
 * Creates the folder of the run's PostgreSQL, in memory if it has room: each test file copies hundreds of small files,
 * and creating a file on disk costs several times as much. Tests of whether data survives have a server on disk.
 */
export async function newServerFolder(): Promise<string> {
  if (await hasRoom()) {
    await removeLeftovers();
    return mkdtemp(join(memory, prefix));
  }
  return mkdtemp(join(tmpdir(), prefix));
}

const hasRoom = (): Promise<boolean> =>
  statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize >= neededBytes,
    () => false, // another operating system
  );

/** Removes the folders that killed runs left, which would keep the memory occupied. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(memory)) {
    const folder = join(memory, name);
    // A folder without an owner may belong to another run that is starting.
    if (!name.startsWith(prefix) || !existsSync(join(folder, 'owner.json'))) continue;
    const isOurs = await claimFolder(folder, 'SIGINT').then(
      () => true,
      () => false, // it is in use, or another process is removing it
    );
    if (isOurs) await rm(folder, { recursive: true, force: true });
  }
}
