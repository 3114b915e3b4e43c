// `npm run coverage`: what the tests reach of src/domain, in coverage/ (docs/decisions/0049). `npm run coverage -- FILES` for
// some tests, with `--add` to what others have reached; `npm run coverage -- --report` of what is there.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
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
  run(tests.length > 0 ? tests : inThisProcess);
}
const { pct } = (await report()).summary.branches;
process.stdout.write(
  `${pct} % of the branches of src/domain; all tests together have to reach more than ${leastBranches} %\n`,
);
if (pct <= leastBranches) process.exitCode = 1;

/** In one process: V8 writes when a process ends, and jest ends its workers before that. */
function run(files) {
  const env = { ...process.env, NODE_V8_COVERAGE: measured };
  const { status } = spawnSync(process.execPath, ['node_modules/jest/bin/jest.js', '--runInBand', ...files], {
    stdio: 'inherit',
    cwd: root,
    env,
  });
  if (status !== 0) process.exitCode = 1;
}

/** Counts by the syntax of the code: V8's own ranges leave out the branches of functions that nobody called. */
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

/** Of what test/runner/hooks.js compiles, Node writes down neither the code nor where its source is. */
function asCompiled(entry) {
  const url = entry.url.startsWith('file:') ? entry.url : pathToFileURL(entry.url).href;
  const { code, mapPath } = compiled(fileURLToPath(url));
  entry.source = code;
  entry.sourceMap = { ...JSON.parse(readFileSync(mapPath, 'utf8')), sources: [url] };
  entry.fake = false;
  // The reporter knows a method by where its parameters begin, which it takes to be right behind the name.
  for (const { functionName, ranges } of entry.functions ?? []) {
    const [beforeParameters] =
      /^(?:(?:async|get|set|static) )*[\w$#]+ (?=\()/.exec(code.slice(ranges[0].startOffset)) ?? [];
    const isMethod = functionName !== '' && beforeParameters?.trim().endsWith(functionName);
    if (isMethod) ranges[0].startOffset += beforeParameters.length - functionName.length;
  }
}
