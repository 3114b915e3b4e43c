import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

// Writes the durations from jest's `--json --outputFile=FILE`, by which test/runner/sequencer.js orders the test files.
const [, , report = 'test-report.json'] = process.argv;
const root = new URL('..', import.meta.url).pathname;
const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
const entries = testResults
  .map(({ name, startTime, endTime }) => [relative(root, name), Math.round((endTime - startTime) / 1000)])
  .filter(([, seconds]) => seconds > 0)
  .sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(
  new URL('../test/runner/durations.json', import.meta.url),
  `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`,
);
