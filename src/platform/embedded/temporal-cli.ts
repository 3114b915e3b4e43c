import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { projectRoot } from '../root.js';
import { StartError } from '../start-error.js';
import { runChild } from './children.js';
import { claimFolder, FolderInUse } from './claims.js';
import { downloadTemporalCli } from './temporal-download.js';

const run = promisify(execFile);

/** The version that is downloaded or built; `tools/temporal/go.mod` names the same one. */
export const TEMPORAL_CLI_VERSION = '1.5.1';
/** Older servers lack what the workflows use (update-with-start). */
const OLDEST_SERVER = [1, 28] as const;
const PROGRESS_EVERY_MS = 15_000;
const GO_PACKAGE = 'github.com/temporalio/cli';

export interface FindTemporalCli {
  /** TEMPORAL_CLI_PATH: when set, nothing else is tried. */
  configuredPath?: string;
  onProgress: (line: string) => void;
}

/**
 * Answers the path of a Temporal CLI that runs here. It looks at the configured path, the PATH and the user's cache;
 * then fills the cache by the official download, or, where that is out of reach and Go is there, by building it.
 * @throws Error in one line that says what was tried and what to do
 */
export async function findTemporalCli({ configuredPath, onProgress }: FindTemporalCli): Promise<string> {
  if (configuredPath) {
    const flaw = await flawOf(resolve(configuredPath));
    if (flaw) throw new StartError(`TEMPORAL_CLI_PATH=${configuredPath}: ${flaw}`);
    return resolve(configuredPath);
  }
  const installed = onPath('temporal');
  if (installed) {
    const flaw = await flawOf(installed);
    if (!flaw) return installed;
    onProgress(`Not using ${installed}: ${flaw}`);
  }
  const cache = await cacheFolder();
  const cached = join(cache, 'temporal');
  if (existsSync(cached) && !(await flawOf(cached))) return cached;
  return fillCache(cache, onProgress);
}

/** One process fills the cache; the others wait for its result. */
async function fillCache(cache: string, onProgress: (line: string) => void): Promise<string> {
  const target = join(cache, 'temporal');
  for (let waited = 0; ; waited++) {
    try {
      const claim = await claimFolder(cache);
      try {
        if (existsSync(target) && !(await flawOf(target))) return target;
        return await obtain(cache, target, onProgress);
      } finally {
        await claim.release();
      }
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error;
      if (waited % 30 === 0) onProgress(`Waiting for process ${error.pid}, which is getting the Temporal CLI`);
      await sleep(1000);
    }
  }
}

async function obtain(cache: string, target: string, onProgress: (line: string) => void): Promise<string> {
  const draft = join(cache, `temporal.${process.pid}.new`);
  const failures: string[] = [];
  await clearDrafts(cache);
  try {
    for (const get of [downloadTo, buildTo]) {
      const flaw = await get(draft, onProgress).then(
        () => flawOf(draft),
        (error: Error) => error.message,
      );
      if (!flaw) {
        await rename(draft, target);
        return target;
      }
      failures.push(flaw);
      await rm(draft, { force: true });
    }
  } finally {
    await rm(draft, { force: true });
  }
  const [download, build] = failures;
  throw new StartError(
    `There is no Temporal server to start: no "temporal" on the PATH, the download failed (${download}), ` +
      `building failed (${build}). Install the Temporal CLI (docs.temporal.io/cli), set TEMPORAL_CLI_PATH to one, ` +
      'set TEMPORAL_ADDRESS to a running server, or install Go 1.25 or later.',
  );
}

/** What an interrupted start left; whoever gets here has the folder to itself. */
async function clearDrafts(cache: string): Promise<void> {
  const drafts = (await readdir(cache)).filter((name) => /^(temporal\..*\.new|download-.*)$/.test(name));
  await Promise.all(drafts.map((name) => rm(join(cache, name), { recursive: true, force: true })));
}

async function downloadTo(draft: string, onProgress: (line: string) => void): Promise<void> {
  onProgress(`Downloading the Temporal CLI ${TEMPORAL_CLI_VERSION}`);
  await downloadTemporalCli(TEMPORAL_CLI_VERSION, draft);
  await chmod(draft, 0o755);
}

async function buildTo(draft: string, onProgress: (line: string) => void): Promise<void> {
  const go = onPath('go') ?? ['/usr/local/go/bin/go'].find(isExecutable);
  if (!go) throw new Error('Go is not installed');
  onProgress('The download is out of reach: building the Temporal CLI with Go, once; about three minutes on two cores');
  let packages = 0;
  const started = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    onProgress(`Building the Temporal CLI: ${packages} packages compiled in ${seconds} s`);
  }, PROGRESS_EVERY_MS);
  try {
    const version = `-X ${GO_PACKAGE}/temporalcli.Version=${TEMPORAL_CLI_VERSION}`;
    await runChild({
      command: go,
      args: [
        'build',
        '-v',
        '-buildvcs=false',
        '-ldflags',
        `-s -w ${version}`,
        '-o',
        draft,
        `${GO_PACKAGE}/cmd/temporal`,
      ],
      cwd: join(projectRoot, 'tools', 'temporal'),
      onLine: () => packages++,
    });
  } finally {
    clearInterval(timer);
  }
}

/** Why the file at `path` cannot serve as Temporal CLI; undefined when it can. */
async function flawOf(path: string): Promise<string | undefined> {
  if (!isExecutable(path)) return 'there is no executable file';
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 30_000, cwd: '/' });
    const [major, minor] = (/\bServer (\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number);
    if (major === undefined || minor === undefined)
      return `it does not look like the Temporal CLI (${stdout.split('\n')[0]})`;
    const recent = major > OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor >= OLDEST_SERVER[1]);
    return recent ? undefined : `its server ${major}.${minor} is older than ${OLDEST_SERVER.join('.')}`;
  } catch (error) {
    return `it does not run (${(error as Error).message.trim()})`;
  }
}

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => resolve(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The user's cache, or for a user without a home the checkout's. */
async function cacheFolder(): Promise<string> {
  const user = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(user, 'gatehouse', `temporal-${TEMPORAL_CLI_VERSION}`);
  try {
    await mkdir(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    if (isExecutable(join(folder, 'temporal'))) return folder;
    const own = join(projectRoot, '.cache', 'gatehouse', `temporal-${TEMPORAL_CLI_VERSION}`);
    await mkdir(own, { recursive: true });
    return own;
  }
}
