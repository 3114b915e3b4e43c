import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';

/** An import of one file by another, both as paths from the project's root. */
export interface Import {
  from: string;
  to: string;
  isType: boolean;
}

async function importsOf(folder: string): Promise<Import[]> {
  const names = (await readdir(join(projectRoot, folder), { recursive: true })).filter((name) => name.endsWith('.ts'));
  const found = await Promise.all(
    names.map(async (name) => {
      const from = join(folder, name);
      const text = await readFile(join(projectRoot, from), 'utf8');
      const statements = text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'(\.[^']*)'/gm);
      const later = text.matchAll(/\bimport\(()'(\.[^']*)'\)/g);
      return [...statements, ...later].map(([, type, path]) => ({
        from,
        to: join(dirname(from), (path as string).replace(/\.js$/, '.ts')),
        isType: Boolean(type),
      }));
    }),
  );
  return found.flat();
}

/** Returns every import between the sources. */
export const importsOfSources = async (): Promise<Import[]> =>
  (await Promise.all(['src', 'workflows', 'activities', 'entities'].map(importsOf))).flat();

/** Returns `src/http`, `entities`, …; for a file directly under `src/`, the file itself. */
export const layerOf = (path: string): string => {
  const [first, second = ''] = path.split('/');
  return first === 'src' ? `src/${second}` : (first as string);
};
