// `npm run coverage`: measures how much of src/domain the tests reach, in coverage/ (docs/decisions/0049).
// `npm run coverage -- FILES` runs only some tests, with `--add` on top of earlier ones; `npm run coverage -- --report`
// only reports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CoverageReport } from 'monocart-coverage-reports';
import { compiled } from '../test/runner/compiled.js';

const inThisProcess = ['test/unit', 'test/integration', 'test/workflows'];
const leastBranches = 90;
const root = fileURLToPath(new URL('..', import.meta.url));
const domain = `${root}src/domain/`;
const measured = `${root}coverage/raw`;

const options = process.argv.slice(2);
const tests = options.filter((option) => !option.startsWith('--'));
if (!options.includes('--report')) {
  if (!options.includes('--add')) rmSync(measured, { recursive: true, force: true });
  await (tests.length > 0 ? run(tests, '1/1') : runAll());
}
const { pct } = (await report()).summary.branches;
process.stdout.write(
  `${pct} % of the branches of src/domain; all tests together have to reach more than ${leastBranches} %\n`,
);
if (pct <= leastBranches) process.exitCode = 1;

/** Runs all tests, in as many processes as there are cores; their counts are added. */
async function runAll() {
  const count = availableParallelism();
  await Promise.all(Array.from({ length: count }, (_, i) => run(inThisProcess, `${i + 1}/${count}`)));
}

/**
 * Runs a share of the tests in one process: V8 writes counts when a process exits, and jest kills its workers before.
 */
async function run(files, shard) {
  const env = { ...process.env, NODE_V8_COVERAGE: measured };
  const args = ['node_modules/jest/bin/jest.js', '--runInBand', `--shard=${shard}`, ...files];
  const jest = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
  const [code] = await once(jest, 'exit');
  if (code !== 0) process.exitCode = 1;
}

/** Counts by the syntax of the code: V8's own ranges omit the branches of functions that were never called. */
async function report() {
  const coverage = new CoverageReport({
    name: 'src/domain',
    outputDir: `${root}coverage/report`,
    baseDir: root,
    reports: [['text', { maxCols: 120 }], 'json', 'json-summary', 'v8'],
    defaultSummarizer: 'pkg',
    logging: 'error',
    entryFilter: ({ url }) => url.startsWith(pathToFileURL(domain).href),
    onEntry: asCompiled,
    all: { dir: domain, transformer: asCompiled },
  });
  coverage.cleanCache();
  await coverage.addFromDir(measured);
  return coverage.generate();
}

/** Adds code and source map to an entry: for what test/runner/hooks.js compiles, Node records neither. */
function asCompiled(entry) {
  const url = entry.url.startsWith('file:') ? entry.url : pathToFileURL(entry.url).href;
  const { code, mapPath } = compiled(fileURLToPath(url));
  entry.source = code;
  entry.sourceMap = { ...JSON.parse(readFileSync(mapPath, 'utf8')), sources: [url] };
  entry.fake = false;
  // The reporter finds a method by where its parameters begin, which it assumes to be directly after the name.
  for (const { functionName, ranges } of entry.functions ?? []) {
    const [beforeParameters] =
      /^(?:(?:async|get|set|static) )*[\w$#]+ (?=\()/.exec(code.slice(ranges[0].startOffset)) ?? [];
    const isMethod = functionName !== '' && beforeParameters?.trim().endsWith(functionName);
    if (isMethod) ranges[0].startOffset += beforeParameters.length - functionName.length;
  }
}
