import { execFile } from 'node:child_process';
import { rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../start-error.js';
import { buildWithGo } from './go-build.js';
import { cacheFolder, filledOnce, isExecutable, onPath } from './programs.js';

const run = promisify(execFile);

/** The version that is built; `tools/temporal-server/go.mod` names the same one, and docker-compose.yml its images. */
export const TEMPORAL_SERVER_VERSION = '1.32.0';
const GO_PACKAGE = 'go.temporal.io/server';

/** The programs of a Temporal server that keeps everything in PostgreSQL. */
export interface TemporalPrograms {
  /** `temporal-server` */
  server: string;
  /** `temporal-sql-tool`, which creates and upgrades the server's schema. */
  sqlTool: string;
}

const names = { server: 'temporal-server', sqlTool: 'temporal-sql-tool' } as const;
const settings = { server: 'TEMPORAL_SERVER_PATH', sqlTool: 'TEMPORAL_SQL_TOOL_PATH' } as const;
const packages = { server: `${GO_PACKAGE}/cmd/server`, sqlTool: `${GO_PACKAGE}/cmd/tools/sql` } as const;
const kinds = ['server', 'sqlTool'] as const;

export interface FindTemporalPrograms {
  /** TEMPORAL_SERVER_PATH and TEMPORAL_SQL_TOOL_PATH: a program whose path is set is not searched for. */
  configured?: { [K in keyof TemporalPrograms]?: string | null };
  onProgress: (line: string) => void;
}

/**
 * Returns the paths of the two programs: configured, on the PATH, or in the user's cache, which is filled by building
 * them with Go. Both must be of one version, since the tool makes the schema of its own version.
 * @throws StartError in one line that says what is missing and what to do
 */
export async function findTemporalPrograms({ configured = {}, onProgress }: FindTemporalPrograms) {
  const cache = await cacheFolder(`temporal-server-${TEMPORAL_SERVER_VERSION}`, Object.values(names));
  const found: Partial<TemporalPrograms> = {};
  for (const kind of kinds) {
    const path = configured[kind];
    if (path && !isExecutable(resolve(path)))
      throw new StartError(`${settings[kind]}=${path}: there is no executable file`);
    found[kind] = path ? resolve(path) : onPath(names[kind]);
  }
  for (const kind of kinds) found[kind] ??= await built(kind, cache, onProgress);
  const programs = found as TemporalPrograms;
  const [server, sqlTool] = await Promise.all(kinds.map((kind) => versionOf(programs[kind])));
  if (server !== sqlTool) {
    throw new StartError(
      `${programs.server} is version ${server} and ${programs.sqlTool} is version ${sqlTool}: take both of one release`,
    );
  }
  return programs;
}

async function built(kind: keyof TemporalPrograms, cache: string, onProgress: (line: string) => void) {
  const target = join(cache, names[kind]);
  const look = async () => (isExecutable(target) ? target : null);
  const fill = async () => {
    const draft = `${target}.${process.pid}.new`;
    onProgress(`Building ${names[kind]} ${TEMPORAL_SERVER_VERSION} with Go, once; some minutes on two cores`);
    try {
      await buildWithGo({
        module: 'temporal-server',
        package: packages[kind],
        target: draft,
        what: names[kind],
        onProgress,
      });
      await rename(draft, target);
      return target;
    } catch (error) {
      throw new StartError(
        `There is no ${names[kind]}: none on the PATH, and building failed (${(error as Error).message}). Set ` +
          `${settings[kind]} to one, or install Go 1.26 or later.`,
      );
    } finally {
      await rm(draft, { force: true });
    }
  };
  return (await look()) ?? filledOnce(cache, { what: names[kind], look, fill, onProgress });
}

async function versionOf(path: string): Promise<string> {
  const { stdout } = await run(path, ['--version'], { timeout: 30_000, cwd: '/' }).catch((error: Error) => {
    throw new StartError(`${path} does not run (${error.message.trim()})`);
  });
  return /\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? stdout.trim();
}
