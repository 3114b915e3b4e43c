import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { capabilities } from '../../src/domain/capabilities/administrator-roles.js';
import { errorCodes } from '../../src/domain/errors.js';
import { portalOperations } from '../../src/http/portal-api.js';
import { environmentOperations } from '../../src/http/surfaces/environment-operations.js';
import { projectRoot } from '../../src/platform/root.js';

/** Nothing is declared that is not in use. */

test('every error code is one that the service answers with', async () => {
  const folder = join(projectRoot, 'src');
  const catalogues = ['domain/errors.ts', 'http/error-statuses.ts'];
  const names = (await readdir(folder, { recursive: true })).filter(
    (name) => name.endsWith('.ts') && !catalogues.includes(name),
  );
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const unused = errorCodes.filter((code) => !texts.some((text) => text.includes(`'${code}'`)));
  expect(unused.map((code) => `nothing in src/ throws ${code}`)).toEqual([]);
});

test('every capability is required by an operation', () => {
  const required = new Set([...portalOperations, ...environmentOperations].map(({ capability }) => capability));
  const unused = capabilities.filter((capability) => !required.has(capability));
  expect(unused.map((capability) => `no operation requires ${capability}`)).toEqual([]);
});
