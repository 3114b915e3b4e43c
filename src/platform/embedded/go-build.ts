import { join } from 'node:path';
import { projectRoot } from '../root.js';
import { runChild } from './children.js';
import { isExecutable, onPath } from './programs.js';

const PROGRESS_EVERY_MS = 15_000;

export interface GoBuild {
  /** The folder below `tools/` whose go.mod names the package as a tool, with its dependencies. */
  module: string;
  /** The Go package of the program. */
  package: string;
  /** The path of the program that is built. */
  target: string;
  /** Linker flags, in addition to those that omit symbols. */
  linkerFlags?: string;
  /** The name for progress messages: `the Temporal CLI`. */
  what: string;
  onProgress: (line: string) => void;
}

/**
 * Builds a program with Go, whose sources come through the Go module proxy.
 * @throws Error with Go's last lines, or one that says that Go is not installed
 */
export async function buildWithGo({ module, target, what, onProgress, ...build }: GoBuild): Promise<void> {
  const go = onPath('go') ?? ['/usr/local/go/bin/go'].find(isExecutable);
  if (!go) throw new Error('Go is not installed');
  let packages = 0;
  const started = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    onProgress(`Building ${what}: ${packages} packages compiled in ${seconds} s`);
  }, PROGRESS_EVERY_MS);
  try {
    const linker = ['-s -w', build.linkerFlags].filter(Boolean).join(' ');
    await runChild({
      command: go,
      args: ['build', '-v', '-buildvcs=false', '-ldflags', linker, '-o', target, build.package],
      cwd: join(projectRoot, 'tools', module),
      onLine: () => packages++,
    });
  } finally {
    clearInterval(timer);
  }
}
