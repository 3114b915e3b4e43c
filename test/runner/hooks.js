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
  const own = new URL(url).searchParams.has('file') ? inFunction(code) : code;
  return { format: 'module', source: measured ? own + mapIn(mapPath) : own, shortCircuit: true };
}

/**
 * A module's variables stay until the process ends, with all that a test file has started. Those of a function go with
 * its tests. Lines stay where the source map expects them.
 */
function inFunction(code) {
  const lines = code.replace(/^export\s*\{\s*\};$/m, '').split('\n'); // SWC's mark of a module without imports
  let begin = 0;
  for (const [line, text] of lines.entries())
    if (/^import\b(?!\.)/.test(text)) begin = line + 1;
    else if (text.trim() && !/^\s*(\/\*|\*|\/\/)/.test(text)) break;
  lines[begin] = `await (async () => {${lines[begin]}`;
  return `${lines.join('\n')}\n})();\n`;
}

/** Coverage by V8 (`npm run coverage`) is mapped to the sources, so the code needs its source maps. */
const measured = process.env.NODE_V8_COVERAGE !== undefined;
const mapIn = (path) => `\n//# sourceMappingURL=data:application/json;base64,${readFileSync(path).toString('base64')}`;

const isSource = (url) => /^file:.*\.ts(\?|$)/.test(url ?? '');
const found = ({ href }) => ({ url: href, format: 'module', shortCircuit: true });
