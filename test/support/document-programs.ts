import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/platform/root.js';

/** Saves what a document tells its readers to save (`Save this as …`), under the names that it gives, in a folder. */
export async function savePrograms(document: string, folder: string): Promise<void> {
  const text = await readFile(join(projectRoot, document), 'utf8');
  for (const [, name, contents] of text.matchAll(/Save this as\s+`([\w.]+)`[\s\S]*?```\w+\n([\s\S]*?)```/g)) {
    await writeFile(join(folder, name as string), contents as string);
  }
}

/** Runs a saved program as a reader does. @returns its output @throws Error with its complaint if it fails */
export async function runProgram(folder: string, env: Record<string, string>, ...args: string[]): Promise<string> {
  const settings = { ...process.env, NODE_OPTIONS: '', ...env };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env: settings });
  return stdout;
}
