import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/gatehouse-tests');
const require = createRequire(import.meta.url);
const { version } = require('@swc/core/package.json');

const options = {
  swcrc: false,
  module: { type: 'es6' },
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: false, useDefineForClassFields: false },
  },
  sourceMaps: true,
};

/**
 * Returns a TypeScript file as JavaScript, compiled unless an earlier run did so: results are cached by the file's
 * content.
 * @param {string} path of the source
 * @returns {{ code: string, source: string, mapPath: string }}
 */
export function compiled(path) {
  const source = readFileSync(path, 'utf8');
  const name = createHash('sha256')
    .update(`${version}\0${JSON.stringify(options)}\0${path}\0${source}`)
    .digest('hex');
  const codePath = join(cache, `${name}.js`);
  const mapPath = `${codePath}.map`;
  try {
    return { code: readFileSync(codePath, 'utf8'), source, mapPath };
  } catch (e) {
    if (e.code !== 'ENOENT') throw e;
  }
  const { code, map } = require('@swc/core').transformSync(source, { ...options, filename: basename(path) });
  mkdirSync(cache, { recursive: true });
  write(mapPath, map);
  write(codePath, code);
  return { code, source, mapPath };
}

/** Writes atomically: several workers write the same file. */
function write(path, text) {
  const own = `${path}.${randomBytes(4).toString('hex')}`;
  writeFileSync(own, text);
  renameSync(own, path);
}
