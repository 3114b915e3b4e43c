import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/platform/root.js';
import { importsOfSources, layerOf } from '../support/imports.js';

/** Who may import whom: biome.json's rules work, and the sources have no other ways around them. */

const run = promisify(execFile);
const biome = join(projectRoot, 'node_modules/.bin/biome');

interface Override {
  includes: string[];
  linter?: {
    rules?: { style?: { noRestrictedImports?: { options?: { patterns?: { group: string[] }[] } } } };
  };
}
const { $schema: _, ...configuration } = JSON.parse(await readFile(join(projectRoot, 'biome.json'), 'utf8'));
const overrides = configuration.overrides as Override[];
const groupsOf = ({ linter }: Override) =>
  (linter?.rules?.style?.noRestrictedImports?.options?.patterns ?? []).flatMap(({ group }) => group);
const restricting = overrides.filter((override) => groupsOf(override).length > 0);

interface Diagnostic {
  location: { path: string; start: { line: number } };
}

/**
 * Returns which imports the linter refuses in each file, by path. Uses its own tree and one run for all files: on
 * standard input Biome only reports that something is wrong, and here also in which line.
 */
async function refusedIn(
  files: Record<string, string[]>,
  rule = 'style/noRestrictedImports',
  kind: '' | 'type ' = '',
): Promise<Record<string, string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-lint-'));
  try {
    await writeFile(join(folder, 'biome.json'), JSON.stringify({ ...configuration, vcs: { enabled: false } }));
    for (const [path, imports] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), imports.map((from) => `export ${kind}* from '${from}';\n`).join(''));
    }
    const args = ['lint', `--only=${rule}`, '--reporter=json', '--max-diagnostics=none'];
    const { stdout } = await run(biome, [...args, `--config-path=${folder}`, folder]).catch((error) => error);
    const lines = new Set(
      (JSON.parse(stdout).diagnostics as Diagnostic[]).map(
        ({ location: { path, start } }) => `${relative(folder, path)}:${start.line}`,
      ),
    );
    return Object.fromEntries(
      Object.entries(files).map(([path, imports]) => [path, imports.filter((_, i) => lines.has(`${path}:${i + 1}`))]),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('every pattern of every rule in biome.json refuses what it names', async () => {
  const exampleOf = (pattern: string) => pattern.replace(/^\*\*\//, '../../').replaceAll('**', 'some/file.js');
  const files = Object.fromEntries(
    restricting.map((override) => [
      (override.includes[0] as string).replace('**', 'sample.ts'),
      groupsOf(override).map((pattern) => exampleOf(pattern).replaceAll('*', 'some')),
    ]),
  );
  expect(Object.keys(files).length).toBeGreaterThanOrEqual(6);
  expect(await refusedIn(files)).toEqual(files);
});

const rules: { file: string; mayNot: string[]; may: string[] }[] = [
  {
    file: 'src/domain/oidc/sample.ts',
    mayNot: ['../../http/errors.js', '../../../workflows/ids.js', '../../../activities/index.js', '../../compose.js'],
    may: ['../../platform/db.js', '../../../entities/user.js', '../errors.js', 'typeorm', 'jose', 'node:crypto'],
  },
  {
    file: 'src/domain/users/sample.ts',
    mayNot: ['fastify', '@fastify/cookie', '@temporalio/client', '@temporalio/workflow', '../../config.js'],
    may: ['./users.js', '../oidc/keys.js', 'uuid'],
  },
  {
    file: 'src/http/oauth/sample.ts',
    mayNot: ['@temporalio/client', '../../../workflows/index.js', '../../../activities/index.js', '../../compose.js'],
    may: ['../../domain/oidc/provider.js', '../../platform/context.js', '../errors.js', 'fastify', '@fastify/cookie'],
  },
  {
    file: 'src/platform/sample.ts',
    mayNot: [
      '../http/app.js',
      '../domain/errors.js',
      '../temporal/processes.js',
      '../../activities/index.js',
      '../compose.js',
      '../config.js',
      '../services.js',
      'fastify',
    ],
    may: ['../../workflows/ids.js', '../../entities/index.js', '@temporalio/client', 'pg', './db.js'],
  },
  {
    file: 'src/temporal/sample.ts',
    mayNot: ['../http/app.js', '../../activities/index.js', '../compose.js', '../config.js', 'fastify'],
    may: ['../../workflows/ids.js', '../domain/errors.js', '../platform/db.js', '@temporalio/client', './look.js'],
  },
  {
    file: 'activities/sample.ts',
    mayNot: ['../src/http/app.js', '../src/compose.js', '../src/config.js', '@temporalio/client', 'fastify'],
    may: ['../src/domain/errors.js', '@temporalio/activity', '@temporalio/common', './settled.js'],
  },
  {
    file: 'workflows/sample.ts',
    mayNot: ['../src/domain/errors.js', '../src/platform/db.js', 'typeorm', 'pg', 'node:fs', '@temporalio/client'],
    may: ['../activities/registration.js', '@temporalio/workflow', '@temporalio/common', './ids.js'],
  },
  {
    file: 'entities/sample.ts',
    mayNot: ['../src/domain/errors.js', '../workflows/ids.js', '../activities/index.js'],
    may: ['./account.js', 'typeorm'],
  },
];

test('each folder may import what the style guide allows, and nothing that it forbids', async () => {
  const mayNot = Object.fromEntries(rules.map((rule) => [rule.file, rule.mayNot]));
  const all = Object.fromEntries(rules.map((rule) => [rule.file, [...rule.mayNot, ...rule.may]]));
  expect(await refusedIn(all)).toEqual(mayNot);
});

// What no pattern can express: the linter sees one import at a time, and does not distinguish types from values.

const imports = await importsOfSources();

/**
 * Every layer, with the layers that it uses at run time. Lower layers know no higher ones.
 * Types may reach further: `http` names `services.ts`, `domain` the inputs of processes.
 */
const uses: Record<string, string[]> = {
  entities: [],
  workflows: [],
  'src/settings.ts': ['src/platform'],
  'src/config.ts': ['src/settings.ts', 'src/platform'],
  'src/platform': ['entities', 'workflows'],
  'src/domain': ['entities', 'src/platform'],
  'src/temporal': ['src/domain', 'src/platform', 'workflows'],
  activities: ['src/domain', 'src/platform'],
  'src/http': ['src/domain', 'src/platform', 'entities'],
  'src/start-log.ts': ['src/domain', 'src/platform'],
  'src/check-database.ts': ['src/domain', 'src/platform'],
  'src/compose-shared.ts': ['src/domain', 'src/platform'],
  'src/compose.ts': ['src/compose-shared.ts', 'src/http', 'src/temporal', 'src/domain', 'src/platform'],
  'src/openapi-document.ts': ['src/compose.ts', 'src/config.ts', 'src/platform'],
  'src/worker': ['activities', 'src/compose-shared.ts', 'src/temporal', 'src/domain', 'src/platform'],
  'src/dev': ['src/domain', 'src/platform', 'entities', 'workflows'],
  'src/command.ts': ['src/platform'],
  'src/run-process.ts': ['src/command.ts', 'src/config.ts', 'src/platform'],
  'src/api.ts': [
    'src/run-process.ts',
    'src/start-log.ts',
    'src/check-database.ts',
    'src/compose.ts',
    'src/config.ts',
    'src/platform',
  ],
  'src/worker.ts': [
    'src/run-process.ts',
    'src/start-log.ts',
    'src/check-database.ts',
    'src/compose-shared.ts',
    'src/worker',
    'src/temporal',
    'src/config.ts',
    'src/platform',
  ],
  'src/migrate.ts': ['src/run-process.ts', 'src/config.ts', 'src/platform'],
  'src/reencrypt.ts': ['src/run-process.ts', 'src/config.ts', 'src/domain', 'src/platform'],
  'src/reset-mfa.ts': ['src/run-process.ts', 'src/config.ts', 'src/domain', 'src/platform'],
  'src/retry-account.ts': ['src/run-process.ts', 'src/config.ts', 'src/domain', 'src/platform'],
  'src/make-owner.ts': ['src/run-process.ts', 'src/config.ts', 'src/domain', 'src/platform'],
  'src/dev.ts': ['src/run-process.ts', 'src/dev', 'src/config.ts', 'src/platform'],
  'src/cluster.ts': ['src/run-process.ts', 'src/dev', 'src/config.ts', 'src/platform'],
};

test('no layer uses one that it should not know', () => {
  const strangers = imports
    .filter(({ isType }) => !isType)
    .filter(({ from, to }) => layerOf(from) !== layerOf(to) && !uses[layerOf(from)]?.includes(layerOf(to)))
    .map(({ from, to }) => `${from} imports ${to}`);
  expect(imports.length).toBeGreaterThan(300);
  expect(strangers).toEqual([]);
});

/** Returns the cycles that a walk meets. */
function cyclesIn(next: ReadonlyMap<string, Iterable<string>>): string[] {
  const settled = new Set<string>();
  const cycles: string[] = [];
  const visit = (one: string, path: string[]) => {
    if (path.includes(one)) cycles.push([...path.slice(path.indexOf(one)), one].join(' → '));
    if (path.includes(one) || settled.has(one)) return;
    for (const other of next.get(one) ?? []) visit(other, [...path, one]);
    settled.add(one);
  };
  for (const one of next.keys()) visit(one, []);
  return cycles;
}

test('the linter refuses a file that imports itself indirectly, even for a type alone', async () => {
  const files = { 'src/one.ts': ['./other.js'], 'src/other.ts': ['./one.js'], 'src/third.ts': ['./one.js'] };
  const circle = { 'src/one.ts': ['./other.js'], 'src/other.ts': ['./one.js'], 'src/third.ts': [] };
  expect(await refusedIn(files, 'suspicious/noImportCycles')).toEqual(circle);
  expect(await refusedIn(files, 'suspicious/noImportCycles', 'type ')).toEqual(circle);
});

/** Folders of the domain that use each other, and why that stays. */
const knots: Record<string, string> = {
  'hierarchy → access': 'a node that goes takes the roles held at it along (removal.ts), and roles are given at nodes',
  'hierarchy → node-endings':
    'a node that goes, or moves away, ends what its organization has to itself there (removal.ts, changes.ts)',
};
const folderOf = (path: string) => /^src\/domain\/([^/]+)\//.exec(path)?.[1];

test('no folder of the domain uses itself by way of others', () => {
  const next = new Map<string, Set<string>>();
  const allowed = new Set<string>();
  for (const { from, to, isType } of imports) {
    const [user, used] = [folderOf(from), folderOf(to)];
    if (isType || !user || !used || user === used) continue;
    if (`${user} → ${used}` in knots) allowed.add(`${user} → ${used}`);
    else next.set(user, (next.get(user) ?? new Set()).add(used));
  }
  expect(next.size).toBeGreaterThan(15);
  expect(cyclesIn(next)).toEqual([]);
  expect([...allowed].sort()).toEqual(Object.keys(knots).sort());
});

test('files directly under the domain serve its folders, and know none of them', () => {
  const users = imports.filter(({ from, to, isType }) => /^src\/domain\/[^/]+$/.test(from) && folderOf(to) && !isType);
  expect(users).toEqual([]);
});

test('workflows know activities and entities by their types alone', () => {
  const values = imports.filter(({ from, isType }) => layerOf(from) === 'workflows' && !isType);
  expect(values.map(({ to }) => layerOf(to)).filter((layer) => layer !== 'workflows')).toEqual([]);
});

test('only the composition root, the tests and http itself know http', () => {
  const users = imports.filter(({ to }) => layerOf(to) === 'src/http').map(({ from }) => layerOf(from));
  expect([...new Set(users)].sort()).toEqual(['src/compose.ts', 'src/http']);
});

test('tests share code in test/support, and not beside them', async () => {
  const folders = ['unit', 'integration', 'workflows', 'e2e', 'browser'];
  const found = await Promise.all(folders.map((folder) => readdir(join(projectRoot, 'test', folder))));
  expect(found.flat().filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))).toEqual([]);
});
