/**
 * Reads jest's reports of one gate: `files REPORT` prints the failed test files, one per line; `closing REPORT [AGAIN]`
 * prints `N passed, N failed`, where the second run of a file replaces its first.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [what, ...reports] = process.argv.slice(2);
const [first, again] = reports.map((path) => new Map(resultsIn(path).map((file) => [file.name, file])));

if (what === 'files') {
  for (const { name } of [...first.values()].filter(hasFailed))
    process.stdout.write(`${relative(process.cwd(), name)}\n`);
} else {
  const files = [...new Map([...first, ...(again ?? [])]).values()];
  const counted = (status) => files.flatMap((file) => file.assertionResults).filter((test) => test.status === status);
  // A file that could not even be loaded has no tests to count, but has failed.
  const unloaded = files.filter((file) => hasFailed(file) && !file.assertionResults.some(isFailure)).length;
  process.stdout.write(`${counted('passed').length} passed, ${counted('failed').length + unloaded} failed\n`);
}

function hasFailed({ status }) {
  return status === 'failed';
}
function isFailure({ status }) {
  return status === 'failed';
}
function resultsIn(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults;
  } catch {
    return [];
  }
}
