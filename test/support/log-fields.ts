import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';

/** Returns the fields of log lines that docs/operations.md documents. */
export async function logFieldsTold(): Promise<Set<string>> {
  const operations = await readFile(join(projectRoot, 'docs/operations.md'), 'utf8');
  const [, section = ''] = /\n### Log lines\n([\s\S]*?)\n##/.exec(operations) ?? [];
  const rows = [...section.matchAll(/^\| (`[^|]*) \|/gm)].map(([, names]) => names as string);
  return new Set(rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as string)));
}

/**
 * Returns the fields in a process's log lines that the table lacks, but for those of Temporal's SDK, under `component`.
 */
export async function untoldFields(output: string): Promise<string[]> {
  const told = await logFieldsTold();
  const fields = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.component === undefined)
    .flatMap((line) => Object.keys(line));
  return [...new Set(fields)].filter((field) => !told.has(field));
}
