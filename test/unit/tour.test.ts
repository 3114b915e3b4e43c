import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../src/platform/root.js';
import { expectGenerated } from '../support/generated.js';
import { importsOfSources, layerOf } from '../support/imports.js';

/** What docs/architecture.md tells a newcomer is true. */

const architecture = await readFile(join(projectRoot, 'docs/architecture.md'), 'utf8');

test('the diagram shows who imports whom', async () => {
  await expectGenerated('docs/architecture.md', 'layers', await drawn());
});

describe('each step of the five walks', () => {
  const [, tour = ''] = /\n## Five walks\n([\s\S]*?)\n## /.exec(architecture) ?? [];
  const walks = tour.split('\n### ').slice(1);
  const steps = walks.flatMap((walk) => [...walk.matchAll(/`([\w/.-]+\.ts)`\s`(\w+)`/g)].map(([, ...step]) => step));

  test.each(steps as [string, string][])('%s has %s', async (file, name) => {
    expect(existsSync(join(projectRoot, file))).toBe(true);
    expect(await readFile(join(projectRoot, file), 'utf8')).toMatch(new RegExp(`\\b${name}\\b`));
  });

  test('exists for five walks', () => {
    expect(walks).toHaveLength(5);
    expect(steps.length).toBeGreaterThan(30);
  });
});

/** Returns a Mermaid flow chart of the layers; the processes' own files represent what composes them. */
async function drawn(): Promise<string> {
  const drawnLayers = ['src/http', 'src/domain', 'src/temporal', 'src/platform', 'entities', 'workflows', 'activities'];
  const nodeOf = (path: string) => {
    const layer = layerOf(path);
    if (drawnLayers.includes(layer)) return layer;
    return { 'src/compose.ts': 'api', 'src/worker': 'worker' }[layer] ?? null;
  };
  const edges = new Map<string, 'value' | 'type'>();
  for (const { from, to, isType } of await importsOfSources()) {
    const [user, used] = [nodeOf(from), nodeOf(to)];
    if (user === null || used === null || user === used) continue;
    const edge = `${user} ${used}`;
    edges.set(edge, isType && edges.get(edge) !== 'value' ? 'type' : 'value');
  }
  const idOf = (layer: string) => layer.replace('src/', '');
  const lines = [...edges]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([edge, kind]) => {
      const [user = '', used = ''] = edge.split(' ');
      return `  ${idOf(user)} ${kind === 'value' ? '-->' : '-.->'} ${idOf(used)}`;
    });
  return [
    '```mermaid',
    'flowchart TD',
    '  api(["api: src/compose.ts"])',
    '  worker(["worker: src/worker/"])',
    ...lines,
    '```',
  ].join('\n');
}
