import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError, loadConfig, type ProcessName, Settings } from '../../src/config.js';
import { permissions } from '../../src/domain/access/roles/permissions.js';
import { environmentDefaults } from '../../src/domain/environments/defaults.js';
import { snakeCased } from '../../src/platform/database/naming.js';
import { projectRoot } from '../../src/platform/root.js';
import * as ids from '../../workflows/ids.js';

/** What the documents say about the code is true. */

const read = (path: string) => readFile(join(projectRoot, path), 'utf8');
const filesOf = async (folder: string, ending: RegExp) =>
  (await readdir(join(projectRoot, folder), { recursive: true }))
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));

const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...(await Promise.all(['docs', 'examples', 'tools'].map((folder) => filesOf(folder, /\.md$/)))).flat(),
];
const texts = new Map(await Promise.all(documents.map(async (path) => [path, await read(path)] as const)));
const readme = texts.get('README.md') as string;

interface Row {
  name: string;
  default: string;
  neededBy: string;
  meaning: string;
}
const code = (text: string) => text.replace(/^`(.*)`$/, '$1');
const table: Row[] = [...readme.matchAll(/^\| `([A-Z_]+)` *\|([^|]*)\|([^|]*)\|(.*)\|$/gm)].map((cells) => {
  const [name = '', fallback = '', neededBy = '', meaning = ''] = cells.slice(1).map((cell) => cell.trim());
  return { name, default: code(fallback), neededBy, meaning };
});
const settings = Object.entries(Settings.properties as Record<string, { default?: unknown; enum?: string[] }>);

/** Returns the settings without which a process does not start in production. */
function neededInProduction(process: ProcessName): string[] {
  try {
    loadConfig(process, { NODE_ENV: 'production' });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.lines.flatMap((line) => /^([A-Z_]+) is required by /.exec(line)?.[1] ?? []);
  }
}

describe('the configuration table of the README', () => {
  test('has every setting that the service reads, and no other', () => {
    expect(table.map(({ name }) => name)).toEqual(settings.map(([name]) => name));
  });

  test('has the default of each', () => {
    expect(Object.fromEntries(table.map((row) => [row.name, row.default]))).toEqual(
      Object.fromEntries(settings.map(([name, schema]) => [name, String(schema.default ?? '–')])),
    );
  });

  test('says which process does not start without it in production', () => {
    const processes = ['api', 'worker', 'migrate', 'reencrypt', 'reset-mfa', 'retry-account', 'make-owner'] as const;
    const needed = new Map(processes.map((process) => [process, neededInProduction(process)]));
    expect(Object.fromEntries(table.map((row) => [row.name, row.neededBy]))).toEqual(
      Object.fromEntries(
        settings.map(([name]) => [name, processes.filter((process) => needed.get(process)?.includes(name)).join(', ')]),
      ),
    );
  });

  test('lists the possible values of a choice', () => {
    const unnamed = settings.flatMap(([name, schema]) => {
      const { meaning = '' } = table.find((row) => row.name === name) ?? {};
      const missing = (schema.enum ?? []).filter((value) => !meaning.includes(`\`${value}\``));
      return meaning === '' ? [`${name} has no meaning`] : missing.map((value) => `${name} does not name ${value}`);
    });
    expect(unnamed).toEqual([]);
  });
});

/** Makes anchors from headings as GitHub does. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every link from one document to another leads somewhere', async () => {
  const broken: string[] = [];
  for (const [document, text] of texts) {
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(projectRoot, file))) broken.push(`${document}: ${target}`);
      else if (anchor && !anchorsOf(await read(file)).includes(anchor)) broken.push(`${document}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every file that a document names is there', () => {
  const named = /`((?:src|workflows|activities|entities|templates|scripts|test|tools|bench|docs|examples)\/[\w./-]*)`/g;
  const missing = [...texts].flatMap(([document, text]) =>
    [...text.matchAll(named)]
      .map(([, path]) => path as string)
      .filter((path) => !existsSync(join(projectRoot, path)))
      .map((path) => `${document}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test('every section that a file outside the documents names exists', async () => {
  const sources = [
    ...(await filesOf('src', /\.ts$/)),
    'docker-compose.yml',
    'Dockerfile',
    'docs/prometheus/alerts.yml',
  ];
  const named = (
    await Promise.all(
      sources.map(async (path) =>
        [...(await read(path)).matchAll(/(README|docs\/[\w./-]+\.md)(?:'s|,) "([^"]+)"/g)].map(
          ([, document = '', section = '']) => ({
            path,
            document: document === 'README' ? 'README.md' : document,
            section,
          }),
        ),
      ),
    )
  ).flat();
  expect(named.length).toBeGreaterThan(2);
  const headings = (document: string) =>
    [...(texts.get(document) ?? '').matchAll(/^#+ (.*)$/gm)].map(([, text]) => text);
  expect(named.filter(({ document, section }) => !headings(document).includes(section))).toEqual([]);
});

test('every setting of an Environment is listed, with the value that a new one has', () => {
  const page = texts.get('docs/environments.md') as string;
  const { version: _, ...defaults } = environmentDefaults();
  const listed = Object.entries(snakeCased(defaults)).map(([name, value]) => {
    const [, told] = new RegExp(`\`${name}\`(?: \\([^)]*\\))? ([\\w]+)`).exec(page.split('## Settings')[1] ?? '') ?? [];
    const isPlain = typeof value !== 'object' || value === null;
    return [name, told, isPlain ? String(value) : (told ?? 'some word')];
  });
  expect(listed.filter(([, told, value]) => told !== value)).toEqual([]);
  expect(listed.length).toBeGreaterThan(20);
});

test('every scope of an API key is explained, and no other', () => {
  const rows = [...(texts.get('docs/environments.md') ?? '').matchAll(/^\| ((?:`[\w:.]+`(?:, )?)+) \|/gm)];
  const named = rows.flatMap(([, cell = '']) => cell.split(', ').map(code));
  expect(named.filter((name) => name.includes('.')).sort()).toEqual([...permissions].sort());
});

test('every npm script that a document names exists', async () => {
  const { scripts } = JSON.parse(await read('package.json'));
  const own = /^(ci|install|run|test|start)$/;
  const missing = [...texts].flatMap(([document, text]) =>
    [...text.matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)]
      .map(([, name]) => name as string)
      .filter((name) => !own.test(name) && !(name in scripts))
      .map((name) => `${document}: npm run ${name}`),
  );
  expect(missing).toEqual([]);
});

test('every decision that the code refers to is written down', async () => {
  const kept = await readdir(join(projectRoot, 'docs/decisions')); // with their pictures
  const recorded = kept.filter((name) => name.endsWith('.md')).map((name) => name.slice(0, 4));
  const sources = (
    await Promise.all(['src', 'workflows', 'activities', 'entities', 'bench'].map((f) => filesOf(f, /\.ts$/)))
  )
    .flat()
    .map(async (path) => [...(await read(path)).matchAll(/docs\/decisions\/(\d{4})/g)].map(([, id]) => [path, id]));
  const missing = (await Promise.all(sources)).flat().filter(([, id]) => !recorded.includes(id as string));
  expect(missing).toEqual([]);
  expect(new Set(recorded).size).toBe(recorded.length);
});

test('the tables of what support can do to a workflow have every workflow', () => {
  const [section = ''] = (texts.get('docs/operations.md')?.split('\n### Cancel and Terminate\n')[1] ?? '').split(
    '\n### ',
  );
  const tables = section.split('\n\n').filter((part) => part.startsWith('| workflow |'));
  expect(tables.map((part) => /^.*/.exec(part)?.[0])).toEqual([
    '| workflow | after a cancel |',
    '| workflow | after a Terminate, until it runs again | after a Reset |',
  ]);
  const prefixes = Object.values(ids).map((id) => (typeof id === 'string' ? `${id}…` : id('…', '').replace(/\/$/, '')));
  for (const part of tables) expect(prefixes.filter((prefix) => !part.includes(prefix))).toEqual([]);
});

test('docker-compose.yml sets nothing that the service does not read', async () => {
  const compose = await read('docker-compose.yml');
  const block = /^x-gatehouse:[\s\S]*?(?=^\S)/m.exec(compose)?.[0] ?? '';
  const set = [...block.matchAll(/^ {4}([A-Z_]+):/gm)].map(([, name]) => name as string);
  const known = settings.map(([name]) => name);
  expect(set.length).toBeGreaterThan(3);
  expect(set.filter((name) => !known.includes(name))).toEqual([]);
});
