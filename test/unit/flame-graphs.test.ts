import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DOMParser } from '@xmldom/xmldom';
import { type Frame, framesOf } from '../../bench/flame/frames.js';
import { createPlaces, type Position } from '../../bench/flame/places.js';
import { flameSvg } from '../../bench/flame/svg.js';

const callFrame = (functionName: string, url = '', lineNumber = 0) => ({
  functionName,
  url,
  lineNumber,
  columnNumber: 0,
  scriptId: '1',
});
const profileOf = (nodes: Profiler.ProfileNode[]): Profiler.Profile => ({ nodes, startTime: 0, endTime: 1 });
const asNamed = ({ url, lineNumber }: Position) => ({ owner: 'node' as const, text: url && `${url}:${lineNumber}` });
const frame = (name: string, samples: number, children: Frame[] = []): Frame => {
  const own = children.reduce((rest, child) => rest - child.samples, samples);
  return { name, owner: 'package', place: `${name}.js:1`, samples, own, children };
};
const svgOf = (root: Frame) => flameSvg(root, { title: 'nodes-list@large', caption: 'Share of samples.' });

describe('the frames of a profile', () => {
  test('contain what they called, without idleness, the largest first', () => {
    const root = framesOf(
      profileOf([
        { id: 1, callFrame: callFrame('(root)'), children: [2, 3, 4] },
        { id: 2, callFrame: callFrame('(idle)'), hitCount: 900 },
        { id: 3, callFrame: callFrame('small', 'node:a'), hitCount: 1 },
        { id: 4, callFrame: callFrame('large', 'node:b'), hitCount: 2, children: [5, 6] },
        { id: 5, callFrame: callFrame('', 'node:c', 7), hitCount: 4 },
        { id: 6, callFrame: callFrame('unseen', 'node:c', 8), hitCount: 0 },
      ]),
      asNamed,
    );
    expect(root).toMatchObject({ name: 'all', samples: 7, own: 0 });
    expect(root.children.map(({ name, samples, own }) => [name, samples, own])).toEqual([
      ['large', 6, 2],
      ['small', 1, 1],
    ]);
    expect(root.children[0]?.children).toMatchObject([{ name: '(anonymous)', place: 'node:c:7', samples: 4 }]);
  });

  test('are merged where V8 separates what has one name, with what they called', () => {
    const root = framesOf(
      profileOf([
        { id: 1, callFrame: callFrame('(root)'), children: [2, 3] },
        { id: 2, callFrame: callFrame('twin', 'node:a', 3), hitCount: 1, children: [4] },
        { id: 3, callFrame: callFrame('twin', 'node:a', 3), hitCount: 1, children: [5] },
        { id: 4, callFrame: callFrame('called', 'node:a', 9), hitCount: 2 },
        { id: 5, callFrame: callFrame('called', 'node:a', 9), hitCount: 3 },
      ]),
      asNamed,
    );
    expect(root.children).toMatchObject([{ name: 'twin', samples: 7, own: 2 }]);
    expect(root.children[0]?.children).toMatchObject([{ name: 'called', samples: 5, children: [] }]);
  });
});

describe('places', () => {
  const at = (url: string): Position => ({ url, lineNumber: 4, columnNumber: 0 });

  test('of packages, of Node.js and of V8 show no path of the machine', () => {
    const placeOf = createPlaces('/somewhere/else');
    expect(placeOf(at('file:///home/me/node_modules/a/node_modules/pg/lib/client.js'))).toEqual({
      owner: 'package',
      text: 'pg/lib/client.js:5',
    });
    expect(placeOf(at('/home/me/node_modules/fastify/lib/reply.js'))).toMatchObject({ text: 'fastify/lib/reply.js:5' });
    expect(placeOf(at('node:net'))).toEqual({ owner: 'node', text: 'node:net' });
    expect(placeOf(at(''))).toEqual({ owner: 'v8', text: '' });
    expect(placeOf(at('file:///home/me/other.js'))).toEqual({ owner: 'project', text: 'other.js:5' });
  });

  test('of the project are those of its sources, if there is a source map', async () => {
    const root = await mkdtemp(join(tmpdir(), 'gatehouse-places-'));
    try {
      const file = join(root, 'list.js');
      // The start of the fifth line is the ninth line of the source.
      const map = { version: 3, sources: ['src/list.ts'], names: [], mappings: ';;;;AAQA' };
      await writeFile(`${file}.map`, JSON.stringify(map));
      const placeOf = createPlaces(root);
      expect(placeOf(at(pathToFileURL(file).href))).toEqual({ owner: 'project', text: 'src/list.ts:9' });
      expect(placeOf(at(pathToFileURL(join(root, 'bare.js')).href))).toEqual({ owner: 'project', text: 'bare.js:5' });
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

describe('the drawing', () => {
  test('is one document without scripts or external resources, as wide as the shares, with titles', () => {
    const svg = svgOf(frame('all', 1000, [frame('a<b>&"c"', 750), frame('rest', 250)]));
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(svg).not.toMatch(/<script|href|url\(|\son\w+=/);
    expect(svg).toContain('<text x="4" y="15" font-size="14">nodes-list@large</text>');
    expect(svg).toContain(
      '<title>a&lt;b&gt;&amp;&quot;c&quot; a&lt;b&gt;&amp;&quot;c&quot;.js:1: 75.0 %, itself 75.0 %</title>',
    );
    expect(svg).toMatch(/x="0" y="\d+" width="750"/);
    expect(svg).toMatch(/x="750" y="\d+" width="250"/);
    const errors: string[] = [];
    const errorHandler = (level: string, message: string) => errors.push(`${level}: ${message}`);
    new DOMParser({ errorHandler }).parseFromString(svg, 'image/svg+xml');
    expect(errors).toEqual([]);
  });

  test('merges frames below half a percent, and omits them if they are narrow even then', () => {
    const few = frame('few', 100, [frame('x', 60), frame('y', 3), frame('z', 1)]);
    const many = frame('many', 900, [frame('wide', 800), ...Array.from({ length: 20 }, (_, i) => frame(`n${i}`, 4))]);
    const svg = svgOf(frame('all', 1000, [many, few]));
    expect(svg).toContain('<title>… 20 others: 8.0 %</title>');
    expect(svg).not.toContain('… 2 others');
    expect(svg).not.toMatch(/<title>(n\d+|y|z) /);
  });

  test('stays small whatever it shows', () => {
    const deep = (levels: number, name: string): Frame =>
      frame(name.padEnd(60, '-'), 10, levels > 0 ? [deep(levels - 1, `${name}-`)] : []);
    const svg = svgOf(
      frame(
        'all',
        1000,
        Array.from({ length: 100 }, (_, i) => deep(50, `f${i}`)),
      ),
    );
    expect(Buffer.byteLength(svg)).toBeLessThanOrEqual(60_000);
    expect(svg).toContain('… 100 others');
  });
});
