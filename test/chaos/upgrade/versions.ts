import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../../src/platform/root.js';
import type { Seed } from '../../support/seed.js';

const run = promisify(execFile);
const git = async (...args: string[]): Promise<string> =>
  (await run('git', args, { cwd: projectRoot, maxBuffer: 1 << 26 })).stdout.trim();

/** A version of the project with its compiled processes. */
export interface Version {
  name: 'old' | 'new';
  /** Its folder. */
  root: string;
  /** Its name in the report. */
  title: string;
}

const migrationsFolder = 'entities/migrations';
const isMigration = (name: string) => /^\d+-.+\.ts$/.test(name);

/**
 * Returns the last commit with fewer migrations than here.
 * @throws Error if the history does not go back that far: a shallow clone, or no repository
 */
export async function previousCommit(): Promise<string> {
  const here = (await readdir(join(projectRoot, migrationsFolder))).filter(isMigration);
  const commits = (await git('rev-list', 'HEAD', '--', migrationsFolder).catch(() => '')).split('\n').filter(Boolean);
  let after: string | null = null;
  for (const commit of commits) {
    const there = await git('ls-tree', '--name-only', commit, `${migrationsFolder}/`);
    const names = new Set(there.split('\n').map((path) => path.slice(migrationsFolder.length + 1)));
    if (here.some((name) => !names.has(name))) return after === null ? 'HEAD' : await git('rev-parse', `${after}^`);
    after = commit;
  }
  throw new Error(
    'No commit with fewer migrations is in this repository. Get its history (git fetch --unshallow), or name a version with --from',
  );
}

/** Checks a version out and builds it, with the dependencies that it had, in its own folder. */
export async function buildVersion(
  revision: string,
  say: (line: string) => void,
): Promise<Version & { remove(): Promise<void> }> {
  const title = await git('log', '-1', '--format=%h (%cs) %s', revision);
  const root = await mkdtemp(join(tmpdir(), 'gatehouse-previous-'));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    const archive = join(root, 'previous.tar');
    await git('archive', '--format=tar', `--output=${archive}`, revision);
    await run('tar', ['-xf', archive, '-C', root]);
    if (await hasDependenciesOf(root)) {
      await symlink(join(projectRoot, 'node_modules'), join(root, 'node_modules'));
    } else {
      say('installing the dependencies of the version before');
      await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, maxBuffer: 1 << 26 });
    }
    say(`building the version before: ${title}`);
    await run('npm', ['run', '--silent', 'build'], { cwd: root, maxBuffer: 1 << 26 });
    return { name: 'old', root, title, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Returns the version built in a folder, such as an image's; null if there is none. */
export function builtVersion(folder: string): (Version & { remove(): Promise<void> }) | null {
  const root = resolve(folder);
  if (folder === '' || !existsSync(join(root, 'dist/src/api.js'))) return null;
  return { name: 'old', root, title: root, remove: async () => {} };
}

/** Whether every dependency in another version's lock file is installed here in the same version. */
async function hasDependenciesOf(root: string): Promise<boolean> {
  const [before, now] = await Promise.all(
    [root, projectRoot].map(async (one) => {
      const lock = JSON.parse(await readFile(join(one, 'package-lock.json'), 'utf8'));
      return lock.packages as Record<string, { version?: string }>;
    }),
  );
  const names = Object.keys(before ?? {}).filter((path) => path.startsWith('node_modules/'));
  return names.every((path) => now?.[path] && now[path].version === before?.[path]?.version);
}

export const thisVersion: Version = { name: 'new', root: projectRoot, title: 'this one' };

/** Runs a version's own `migrate`. @returns the migrations that it ran, by name */
export async function migrateWith({ root }: Version, ownerUrl: string, url: string): Promise<string[]> {
  const env = { ...process.env, DATABASE_OWNER_URL: ownerUrl, DATABASE_URL: url, NODE_ENV: 'development' };
  const { stdout } = await run(process.execPath, [join(root, 'dist/src/migrate.js')], { cwd: root, env });
  return [...stdout.matchAll(/^ran (\S+)$/gm)].map(([, name]) => name as string);
}

/** Creates the data that a run starts from, as that version writes it. */
export async function seedWith({ root }: Version, databaseUrl: string): Promise<Seed> {
  const script = `
    import 'reflect-metadata';
    const { seed } = await import(process.argv[1]);
    process.stdout.write(JSON.stringify(await seed(process.argv[2])));`;
  const module = join(root, 'dist/test/support/seed.js');
  const args = ['--input-type=module', '--eval', script, module, databaseUrl];
  return JSON.parse((await run(process.execPath, args, { cwd: root })).stdout) as Seed;
}
