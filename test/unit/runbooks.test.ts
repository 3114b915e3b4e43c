import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { projectRoot } from '../../src/platform/root.js';
import { logFieldsTold } from '../support/log-fields.js';
import { alertRules, dashboardPanels } from '../support/watched.js';

/** A person on call finds what to do: alerts, dashboard and runbook belong together. */

const read = (path: string) => readFile(join(projectRoot, path), 'utf8');
const rules = await alertRules();
const runbooks = await read('docs/runbooks.md');
const sections = new Map(
  runbooks
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section.split(/^## /m)[0] as string]),
);

test('every alert has its section, and every section of an alert its alert', () => {
  const alerts = rules.map(({ alert }) => alert);
  expect(new Set(alerts).size).toBe(alerts.length);
  expect([...sections.keys()].filter((name) => name.startsWith('Gatehouse')).sort()).toEqual([...alerts].sort());
});

test.each(rules)('$alert is explained from its meaning to its end, with a link', ({ alert, labels, annotations }) => {
  expect(annotations.runbook_url).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
  expect(annotations.summary.length).toBeGreaterThan(10);
  expect(['critical', 'warning']).toContain(labels.severity);
  const said = [...(sections.get(alert) ?? '').matchAll(/^- \*\*(\w+)/gm)].map(([, word]) => word);
  expect(said).toEqual(['Means', 'Noticed', 'Look', 'Do', 'Over']);
});

const words = new Set([
  ...['sum', 'max', 'min', 'count', 'topk', 'by', 'rate', 'increase', 'changes', 'absent', 'histogram_quantile'],
  ...['and', 'or', 'unless', 'offset', 'vector', 'time', 'abs'],
]);
/** Finds typing errors; `promtool check rules` checks expressions completely. */
function slipsIn(expression: string): string[] {
  const bare = expression.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\{[^{}]*\}/g, '');
  const unbalanced = ['()', '{}', '[]'].filter(
    ([open = '', close = '']) => bare.split(open).length !== bare.split(close).length,
  );
  const labels = new Set([...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/, */)));
  const unknown = [...bare.matchAll(/(?<![\w$])[a-z_]\w*/gi)]
    .map(([word]) => word)
    .filter(
      (word) => !words.has(word) && !labels.has(word) && !/^(up|(gatehouse|nodejs|process|temporal)_\w+)$/.test(word),
    )
    .filter((word) => !/^[smhd]$/.test(word));
  return [...unbalanced, ...unknown];
}

test('no expression of an alert or a panel has an unknown word', async () => {
  const panels = (await dashboardPanels()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect([...panels, ...rules.map(({ expr }) => expr)].flatMap(slipsIn)).toEqual([]);
  expect(slipsIn('summ(rate(up[5m])')).toEqual(['()', 'summ']);
});

test('a histogram is read by its buckets or its count, a counter by its growth', async () => {
  const panels = (await dashboardPanels()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const wrong = [...panels, ...rules.map(({ expr }) => expr)].filter((expression) =>
    /(?<!(rate|increase)\()\b\w+_(total|bucket|count)(\{[^}]*\})?(?!\w|[{[])/.test(
      // A series that exists now and did not before has begun meanwhile: that is growth, too.
      expression.replace(/"[^"]*"/g, '""').replace(/(\w+\{[^}]*\})\s+unless\s+\1 offset \d+m/g, ''),
    ),
  );
  expect(wrong).toEqual([]);
});

test('the alert about guessing watches every limit on guesses at a person', async () => {
  const { expr } = rules.find(({ alert }) => alert === 'GatehouseGuessing')!;
  const watched = new RegExp(`^(?:${/limit=~"([^"]+)"/.exec(expr)?.[1]})$`);
  const names = await readdir(join(projectRoot, 'src/domain'), { recursive: true });
  const sources = await Promise.all(
    names.filter((name) => name.endsWith('.ts')).map((name) => read(`src/domain/${name}`)),
  );
  const limits = sources
    .flatMap((text) => [...text.matchAll(/\b(?:burst|day): [`']([^`']+)[`']/g)].map(([, limit]) => limit as string))
    .flatMap((limit) => ['identity', 'user'].map((whose) => limit.replace(/\$\{\w+\}/, whose)));
  expect(limits.length).toBeGreaterThan(10);
  expect(limits.filter((limit) => !watched.test(limit))).toEqual([]);
});

test('the dashboard has its rows, and panels that do not overlap', async () => {
  const panels = await dashboardPanels();
  expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
    ...['Traffic', 'Sign-ins', 'Durable processes', 'PostgreSQL', 'Temporal', 'Process'],
  ]);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  // The runbook refers to panels by name.
  const titles = new Set(panels.map(({ title }) => title));
  const named = [...runbooks.matchAll(/\*([A-Z][^*]+)\*(?!\*)/g)].map(([, title]) =>
    (title as string).replace(/\s+/g, ' '),
  );
  expect(named.filter((title) => title !== 'Pending Activities' && !titles.has(title))).toEqual([]);
});

test('what Docker Compose mounts into Prometheus and Grafana exists, and is not public', async () => {
  const { services } = parse(await read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { profiles?: string[]; volumes?: string[]; ports?: string[] }>;
  };
  for (const name of ['prometheus', 'grafana']) {
    const { profiles, volumes = [], ports = [] } = services[name]!;
    expect(profiles).toEqual(['watch']);
    for (const volume of volumes.filter((each) => each.startsWith('./'))) {
      expect(await read(volume.split(':')[0] as string)).not.toBe('');
    }
    expect(ports.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
  }
  const { scrape_configs: jobs } = parse(await read('docs/prometheus/prometheus.yml')) as {
    scrape_configs: { job_name: string; dns_sd_configs: { names: string[] }[] }[];
  };
  expect(jobs.map(({ job_name: job }) => job)).toEqual(['gatehouse-api', 'gatehouse-worker']);
  for (const { dns_sd_configs: found } of jobs) expect(Object.keys(services)).toContain(found[0]?.names[0]);
});

test('the table of log lines has every field that the sources write', async () => {
  const told = await logFieldsTold();
  const names = await readdir(join(projectRoot, 'src'), { recursive: true });
  const sources = await Promise.all(
    names.filter((name) => name.endsWith('.ts') && !name.startsWith('dev')).map((name) => read(`src/${name}`)),
  );
  const written = new Set(
    sources
      .flatMap((text) => [...text.matchAll(/\blog\.(?:info|warn|error)\(\s*\{([^}]*)\}/g)])
      .flatMap(([, fields = '']) => [...fields.matchAll(/(?:^|,)\s*(\w+)/g)].map(([, field]) => field as string)),
  );
  expect(written.size).toBeGreaterThan(10);
  expect([...written].filter((field) => !told.has(field))).toEqual([]);
});

test('no command of a block asks a question, whose answer would be the next line of what is pasted', async () => {
  const pages = [runbooks, await read('docs/operations.md')];
  const blocks = pages.flatMap((page) => [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, lines = '']) => lines));
  // Temporal's command line asks before it changes all workflows that a query finds.
  const bulk = blocks.flatMap(
    (lines) => lines.match(/temporal workflow (?:cancel|delete|reset|signal|terminate) .*--query.*/g) ?? [],
  );
  expect(bulk.length).toBeGreaterThan(1);
  expect(bulk.filter((command) => !command.includes(' --yes '))).toEqual([]);
});
