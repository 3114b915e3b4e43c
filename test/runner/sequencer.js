import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import base from '@jest/test-sequencer';

const Sequencer = base.default ?? base;
const seconds = JSON.parse(readFileSync(new URL('./durations.json', import.meta.url), 'utf8'));

/**
 * Sorts the longest files first, by what `npm run test:durations` recorded, so no worker ends with a long one alone.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const of = ({ path, context }) => seconds[relative(context.config.rootDir, path)] ?? 10;
    return [...tests].sort((a, b) => of(b) - of(a) || a.path.localeCompare(b.path));
  }
}
