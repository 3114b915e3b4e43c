import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { projectRoot } from '../platform/root.js';

const sources = join(projectRoot, 'workflows');
const bundlePath = join(projectRoot, 'dist/workflow-bundle.js');
const hashPath = `${bundlePath}.sha256`;

/**
 * Returns the path of the bundle that workers load, after building it if its sources have changed. A release without
 * the sources uses the bundle that it was shipped with.
 */
export async function ensureWorkflowBundle(): Promise<string> {
  if (!existsSync(join(sources, 'index.ts'))) return bundlePath;
  const hash = await hashOfSources();
  const built = existsSync(bundlePath) ? await readFile(hashPath, 'utf8').catch(() => '') : '';
  if (built !== hash) await build(hash);
  return bundlePath;
}

async function build(hash: string): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(sources, 'index.ts'),
    workflowInterceptorModules: [join(sources, 'tracing.ts')],
    payloadConverterPath: join(sources, 'payloads.ts'),
    logger: new DefaultLogger('WARN', ({ message }) => process.stderr.write(`${message}\n`)),
  });
  await mkdir(dirname(bundlePath), { recursive: true });
  await replace(bundlePath, code);
  await replace(hashPath, hash);
}

/** Replaces a file atomically: another process may be reading it, or building the same one. */
async function replace(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, text);
  await rename(draft, path);
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const lock = JSON.parse(await readFile(join(projectRoot, 'package.json'), 'utf8'));
  hash.update(JSON.stringify(lock.dependencies));
  for (const name of (await readdir(sources)).filter((file) => file.endsWith('.ts')).sort()) {
    hash.update(`\n${name}\n`).update(await readFile(join(sources, name)));
  }
  return hash.digest('hex');
}
