import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cell } from '../../bench/cells.js';
import { parseOptions } from '../../bench/options.js';
import { aims } from '../../bench/report/aims.js';
import { readPeerFigures } from '../../bench/report/peer-figures.js';
import { keepResults } from '../../bench/report/results.js';
import type { Results } from '../../bench/report/text.js';
import { workloadNames } from '../../bench/workloads/index.js';
import { projectRoot } from '../../src/platform/root.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-report-'));
});
afterEach(() => rm(folder, { recursive: true }));

const cell = (workload: string, perSecond: number, more: Partial<Cell> = {}): Cell => ({
  workload,
  perSecond,
  processes: 1,
  concurrency: 16,
  rssMb: 150,
  p50: 2,
  p99: 6,
  errors: 0,
  error: null,
  serverCpuMs: 0.5,
  postgresCpuMs: 0.2,
  clientCpuMs: 0.1,
  othersPercent: 1,
  ...more,
});
const limit = { perSecond: 10_000, cpuMs: 0.2 };
const resultsOf = (cells: Cell[]): Results => ({
  at: '2026-03-01T12:00:00.000Z',
  machine: { cores: 2, model: 'Some CPU', node: '20.20.0' },
  quick: false,
  limits: {
    signatures: limit,
    signaturesByJose: limit,
    signaturesByNode: limit,
    argon2: { perSecond: 80, cpuMs: 25 },
    reads: limit,
    commits: 5000,
    commitsAlone: 2000,
  },
  readyMs: [1500],
  idleRssMb: 140,
  pages: [{ name: 'sign-in', bytes: 9000, compressed: 4000 }],
  cells,
});
const report = () => readFile(join(folder, 'README.md'), 'utf8');

test('the summary of docs/performance.md has the figures of the report', async () => {
  const summary = await readFile(join(projectRoot, 'docs/performance.md'), 'utf8');
  const latest = await readFile(join(projectRoot, 'bench/results/README.md'), 'utf8');
  const rows = [...summary.matchAll(/^\| [^|]+ \| `([\w@-]+)` \| ([\d.]+ \| [\d.]+ \| [\d.]+) \|/gm)];
  expect(rows.length).toBeGreaterThan(3);
  const figures = rows.map(([, workload, text]) => `| ${workload} | 1, 16 | ${text} |`);
  expect(figures.filter((line) => !latest.includes(line))).toEqual([]);
  const [, day = ''] = /^Measured (\S+)\.$/m.exec(latest) ?? [];
  const [, told = ''] = /connections \((\d+ \w+ \d+), \[the report\]/.exec(summary) ?? [];
  expect(new Date(`${told} UTC`).toISOString().slice(0, 10)).toBe(day);
});

test('every aim belongs to an existing workload', () => {
  for (const { workload } of aims) expect(workloadNames).toContain(workload);
});

test('the report says for each aim whether it was reached, by the better of one process and two', async () => {
  const cells = [
    cell('userinfo', 5000),
    cell('userinfo', 6000, { processes: 2 }),
    cell('jwks', 8000),
    cell('login', 72),
  ];
  await keepResults('workloads', resultsOf(cells), folder);
  const text = await report();
  expect(text).toContain('Measured 2026-03-01.');
  expect(text).toContain('| userinfo | 6000 | 5914 | 101 % | yes | 2 | Keycloak |');
  expect(text).toContain('| jwks | 8000 | 8392 | 95 % | **no** | 1 | Keycloak |');
  expect(text).toContain('| login | 90 % | 95 % | 95 % | **no** | 1 | of the argon2id limit |');
});

test('with services that were measured on the same machine, they set the aims', async () => {
  const lines = [
    { target: 'keycloak', workload: 'userinfo', c: 16, rps: 3000, errors: 0 },
    { target: 'keycloak', workload: 'userinfo', c: 1, rps: 900 },
    { target: 'keycloak', coldStartMs: 9000 },
    { target: 'keycloak-rotate', workload: 'refresh', c: 16, rps: 400 },
  ];
  const file = join(folder, 'peers.jsonl');
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const cells = [cell('userinfo', 5000), cell('refresh', 790)];
  await keepResults('workloads', { ...resultsOf(cells), peers: await readPeerFigures(file) }, folder);
  const text = await report();
  expect(text).toContain('| userinfo | 5000 | 3000 | 167 % | yes | 1 | Keycloak (3000 here) |');
  expect(text).toContain(
    '| refresh | 790 | 800 | 99 % | **no** | 1 | 2 × Keycloak (400 here), whose sessions are written asynchronously |',
  );
  // What was not measured there keeps the other machine's numbers.
  expect(text).toContain('| refresh | 790 | 1233 | 64 % | **no** | 1 | 0.9 × oidc-provider, in memory, with JWTs |');
  await writeFile(file, 'nothing of the kind\n');
  await expect(readPeerFigures(file)).rejects.toThrow(`${file}:1 is no JSON`);
});

test('it plots speed against the limit, latency, and what ten times the data costs', async () => {
  const cells = [cell('nodes-list@small', 2000), cell('nodes-list@large', 1500, { serverCpuMs: 0.7 })];
  await keepResults('workloads', resultsOf(cells), folder);
  for (const name of ['speed', 'latency', 'growth']) {
    expect(await report()).toContain(`![${name}](${name}.svg)`);
    const svg = await readFile(join(folder, `${name}.svg`), 'utf8');
    expect(svg).toMatch(/^<svg [^>]*xmlns=/);
    expect(svg).toContain('nodes-list');
  }
});

test('without two sizes there is no plot of growth', async () => {
  await keepResults('workloads', resultsOf([cell('jwks', 9000)]), folder);
  expect(await report()).not.toContain('growth');
});

test('another measurement adds its table, and keeps the earlier ones', async () => {
  await keepResults('workloads', resultsOf([cell('jwks', 9000)]), folder);
  const events = {
    title: 'Reading events',
    at: '2026-03-02T08:00:00.000Z',
    table: '| a | b |\n| --- | --: |\n| x | 1 |',
  };
  await keepResults('events', events, folder);
  const text = await report();
  expect(text).toContain('jwks');
  expect(text).toContain('## Reading events\n\nMeasured 2026-03-02.\n\n| a | b |');
});

test('a part is measured with the numbers after its name, or with the usual ones', () => {
  expect(parseOptions(['domains', '20', '300']).part).toEqual({ name: 'domains', counts: [20, 300] });
  expect(parseOptions(['scim', '--quick'])).toMatchObject({
    part: { name: 'scim', counts: [1_000, 100_000] },
    quick: true,
  });
  const onServer = parseOptions(['--temporal', 'server', 'deliveries', '10']);
  expect(onServer).toMatchObject({ temporal: 'on PostgreSQL', part: { name: 'deliveries', counts: [10] } });
  expect(parseOptions(['deliveries']).temporal).toBe('in memory');
  for (const wrong of [['--temporal', 'cloud', 'deliveries'], ['--temporal', 'server', 'refresh'], ['--temporal']])
    expect(() => parseOptions(wrong)).toThrow(/--temporal (takes "server"|is for registrations, domains, deliveries)/);
  expect(parseOptions(['refresh'])).toMatchObject({ part: null, only: ['refresh'], flame: null });
  expect(parseOptions(['--flame', 'graphs', 'refresh'])).toMatchObject({ only: ['refresh'], flame: 'graphs' });
  expect(parseOptions(['--beside', 'peers.jsonl'])).toMatchObject({ beside: 'peers.jsonl', only: [] });
  for (const wrong of [['--beside'], ['--beside', 'peers.jsonl', 'domains']])
    expect(() => parseOptions(wrong)).toThrow('--beside');
  for (const wrong of [['--flame'], ['--flame', 'graphs', 'domains']])
    expect(() => parseOptions(wrong)).toThrow('--flame');
  expect(() => parseOptions(['nothing-like-it'])).toThrow(/no workload is called nothing-like-it[\s\S]*domains \[N…\]/);
});
