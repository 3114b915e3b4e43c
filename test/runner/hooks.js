import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compiled } from './compiled.js';

/** Extends Node's loader: `./x.js` beside a TypeScript file means `./x.ts`, which it compiles. */
export function resolve(specifier, context, next) {
  if (!isSource(context.parentURL)) return next(specifier, context);
  if (specifier === '@jest/globals')
    return found(new URL(`./globals.js${new URL(context.parentURL).search}`, import.meta.url));
  const url = /^\.{1,2}\/.*\.js$/.test(specifier) && new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
  if (!url || !existsSync(url)) return next(specifier, context);
  return found(url);
}

export function load(url, context, next) {
  if (!isSource(url)) return next(url, context);
  const { code, mapPath } = compiled(fileURLToPath(url));
  return { format: 'module', source: measured ? code + mapIn(mapPath) : code, shortCircuit: true };
}

/** Coverage by V8 (`npm run coverage`) is mapped to the sources, so the code needs its source maps. */
const measured = process.env.NODE_V8_COVERAGE !== undefined;
const mapIn = (path) => `\n//# sourceMappingURL=data:application/json;base64,${readFileSync(path).toString('base64')}`;

const isSource = (url) => /^file:.*\.ts(\?|$)/.test(url ?? '');
const found = ({ href }) => ({ url: href, format: 'module', shortCircuit: true });
