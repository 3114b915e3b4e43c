import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimFolder } from '../../src/platform/embedded/claims.js';

/** Memory that is a folder (tmpfs), on Linux. */
const memory = '/dev/shm';
/** What the server may need: copies of the template, and WAL until the next checkpoint. */
const neededBytes = 4 * 2 ** 30;
const prefix = 'gatehouse-test-';

/**
 * A new folder for the run's PostgreSQL, in memory where there is enough: each test file copies hundreds of small files, and
 * creating one costs several times as much on a disk. Whoever tests that data survives has a server on a disk.
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
    () => false, // another system
  );

/** Runs that were killed leave theirs, which would keep the memory. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(memory)) {
    const folder = join(memory, name);
    // One without an owner may be another run's that is about to start.
    if (!name.startsWith(prefix) || !existsSync(join(folder, 'owner.json'))) continue;
    const isOurs = await claimFolder(folder, 'SIGINT').then(
      () => true,
      () => false, // it runs, or somebody else is removing it
    );
    if (isOurs) await rm(folder, { recursive: true, force: true });
  }
}
