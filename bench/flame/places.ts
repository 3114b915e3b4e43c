import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../src/platform/root.js';

/** To whom a function belongs: the project, a package, Node.js, or V8 itself, such as garbage collection. */
export type Owner = 'project' | 'package' | 'node' | 'v8';

export interface Place {
  owner: Owner;
  /** The path relative to the project or to the folder of packages, with the line if known; never an absolute path. */
  text: string;
}

/** Where a function begins according to V8, from 0. */
export interface Position {
  url: string;
  lineNumber: number;
  columnNumber: number;
}

const packages = '/node_modules/';

/** Finds the places of functions by source maps, each of which is read once. */
export function createPlaces(root = projectRoot) {
  const maps = new Map<string, SourceMap | null>();

  function mapOf(file: string): SourceMap | null {
    const known = maps.get(file);
    if (known !== undefined) return known;
    const map = existsSync(`${file}.map`) ? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))) : null;
    maps.set(file, map);
    return map;
  }

  return ({ url, lineNumber, columnNumber }: Position): Place => {
    if (url === '') return { owner: 'v8', text: '' };
    if (!url.startsWith('file:') && !url.startsWith('/')) return { owner: 'node', text: url };
    const file = url.startsWith('file:') ? fileURLToPath(url) : url;
    const inPackages = file.lastIndexOf(packages);
    if (inPackages >= 0)
      return { owner: 'package', text: `${file.slice(inPackages + packages.length)}:${lineNumber + 1}` };
    const entry = mapOf(file)?.findEntry(lineNumber, columnNumber);
    const [source, line] =
      entry && 'originalSource' in entry
        ? [join(dirname(file), entry.originalSource), entry.originalLine]
        : [file, lineNumber];
    const inProject = relative(root, source);
    return { owner: 'project', text: `${inProject.startsWith('..') ? basename(source) : inProject}:${line + 1}` };
  };
}
