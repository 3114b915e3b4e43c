import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../start-error.js';
import { buildWithGo } from './go-build.js';
import { cacheFolder, filledOnce, isExecutable, onPath } from './programs.js';
import { downloadTemporalCli } from './temporal-download.js';

const run = promisify(execFile);

/** The version that is downloaded or built; `tools/temporal/go.mod` names the same one. */
const TEMPORAL_CLI_VERSION = '1.5.1';
/** Older servers lack a feature that the workflows use (update-with-start). */
const OLDEST_SERVER = [1, 28] as const;
const GO_PACKAGE = 'github.com/temporalio/cli';

export interface FindTemporalCli {
  /** TEMPORAL_CLI_PATH: when set, nothing else is tried. */
  configuredPath?: string;
  onProgress: (line: string) => void;
}

/**
 * Returns the path of a Temporal CLI that runs here. It looks at the configured path, the PATH and the user's cache,
 * then fills the cache with the official download, or, if that is unreachable and Go is installed, by building the CLI.
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
  const cache = await cacheFolder(`temporal-${TEMPORAL_CLI_VERSION}`, ['temporal']);
  const cached = join(cache, 'temporal');
  const look = async () => (existsSync(cached) && !(await flawOf(cached)) ? cached : null);
  const fill = () => obtain(cache, cached, onProgress);
  return (await look()) ?? filledOnce(cache, { what: 'the Temporal CLI', look, fill, onProgress });
}

async function obtain(cache: string, target: string, onProgress: (line: string) => void): Promise<string> {
  const draft = join(cache, `temporal.${process.pid}.new`);
  const failures: string[] = [];
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

async function downloadTo(draft: string, onProgress: (line: string) => void): Promise<void> {
  onProgress(`Downloading the Temporal CLI ${TEMPORAL_CLI_VERSION}`);
  await downloadTemporalCli(TEMPORAL_CLI_VERSION, draft);
  await chmod(draft, 0o755);
}

async function buildTo(draft: string, onProgress: (line: string) => void): Promise<void> {
  onProgress('The download is out of reach: building the Temporal CLI with Go, once; about three minutes on two cores');
  await buildWithGo({
    module: 'temporal',
    package: `${GO_PACKAGE}/cmd/temporal`,
    target: draft,
    linkerFlags: `-X ${GO_PACKAGE}/temporalcli.Version=${TEMPORAL_CLI_VERSION}`,
    what: 'the Temporal CLI',
    onProgress,
  });
}

/** Returns why the file at `path` cannot serve as the Temporal CLI; undefined if it can. */
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
