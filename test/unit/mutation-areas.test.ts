import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';

/** `areas` of `stryker.config.js`: files of `src`, in which some names stand for several, and tests. */
const { areas } = (await import(join(projectRoot, 'stryker.config.js'))) as {
  areas: Record<string, { rules: string[]; tests: string[] }>;
};

/** Returns the paths that a pattern such as `domain/{one,other}` stands for. */
const pathsOf = (pattern: string): string[] => {
  const [, before = '', names = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  return names === '' ? [pattern] : names.split(',').map((name) => `${before}${name}${after}`);
};

const isThere = async (path: string): Promise<boolean> =>
  path.endsWith('/*')
    ? (await readdir(join(projectRoot, 'src', path.slice(0, -2)))).length > 0
    : existsSync(join(projectRoot, 'src', `${path}.ts`));

// Stryker ignores a name that no file has: after a file is moved, its mutants would be missing without a word.
test.each(Object.entries(areas))('the files and tests of the mutation area %s exist', async (_, { rules, tests }) => {
  const paths = rules.flatMap(pathsOf);
  const found = await Promise.all(paths.map(isThere));
  expect(paths.filter((_, i) => !found[i])).toEqual([]);
  expect(tests.filter((name) => !existsSync(join(projectRoot, 'test', `${name}.test.ts`)))).toEqual([]);
});
