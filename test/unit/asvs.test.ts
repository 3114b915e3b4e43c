import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/platform/root.js';

/** docs/asvs.md and the list of licenses; `documentation.test.ts` checks that the files which the page names exist. */

/** How many requirements of levels 1 and 2 each section of ASVS 5.0.0 has: these come first in a section. */
const sections = {
  1.1: 2,
  1.2: 9,
  1.3: 11,
  1.4: 3,
  1.5: 2,
  2.1: 3,
  2.2: 3,
  2.3: 4,
  2.4: 1,
  3.2: 2,
  3.3: 4,
  3.4: 6,
  3.5: 5,
  3.7: 2,
  4.1: 3,
  4.2: 1,
  4.3: 2,
  4.4: 4,
  5.1: 1,
  5.2: 3,
  5.3: 2,
  5.4: 3,
  6.1: 3,
  6.2: 12,
  6.3: 4,
  6.4: 4,
  6.5: 5,
  6.6: 3,
  6.8: 4,
  7.1: 3,
  7.2: 4,
  7.3: 2,
  7.4: 5,
  7.5: 2,
  7.6: 2,
  8.1: 2,
  8.2: 3,
  8.3: 1,
  8.4: 1,
  9.1: 3,
  9.2: 4,
  10.1: 2,
  10.2: 2,
  10.3: 4,
  10.4: 11,
  10.5: 5,
  10.6: 2,
  10.7: 3,
  11.1: 2,
  11.2: 3,
  11.3: 3,
  11.4: 4,
  11.5: 1,
  11.6: 1,
  12.1: 3,
  12.2: 2,
  12.3: 4,
  13.1: 1,
  13.2: 5,
  13.3: 2,
  13.4: 5,
  14.1: 2,
  14.2: 4,
  14.3: 3,
  15.1: 3,
  15.2: 3,
  15.3: 7,
  16.1: 1,
  16.2: 5,
  16.3: 4,
  16.4: 3,
  16.5: 3,
  17.1: 1,
  17.2: 4,
  17.3: 2,
};
const [answered = '', open = ''] = (await readFile(join(projectRoot, 'docs/asvs.md'), 'utf8')).split(
  '\n## What is not met',
);
const rows = [...answered.matchAll(/^\| (\d+\.\d+\.\d+) \|[^|]+\| (.+) \|$/gm)].map(([, id, answer]) => ({
  id: id as string,
  answer: answer as string,
}));

describe('docs/asvs.md', () => {
  test('has each requirement of levels 1 and 2 once', () => {
    const ids = Object.entries(sections).flatMap(([section, count]) =>
      Array.from({ length: count }, (_, i) => `${section}.${i + 1}`),
    );
    expect(ids).toHaveLength(253);
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  test('says for each whether it is met', () => {
    const vague = rows.filter(({ answer }) => !/^(met|operator|in part|not met|n\/a)\b/.test(answer));
    expect(vague).toEqual([]);
  });

  test('says what is missing for those that are not or partly met', () => {
    const missing = rows.filter(({ answer }) => /^(in part|not met)/.test(answer)).map(({ id }) => id);
    const explained = [...open.matchAll(/^\| ([\d., ]+) \|/gm)].flatMap(([, ids]) => (ids as string).split(', '));
    expect(explained.sort()).toEqual(missing.sort());
  });
});

test('a library under a license that is not allowed is named, and fails the check', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'licenses-'));
  const packages = {
    '': {},
    'node_modules/fine': { version: '1.0.0', license: '(GPL-3.0-only OR MIT)' },
    'node_modules/joined': { version: '2.0.0', license: 'MIT AND GPL-3.0-only' },
    'node_modules/silent': { version: '3.0.0' },
    'node_modules/silent-linux': { version: '4.0.0', optional: true },
    'node_modules/asks': { version: '5.0.0', license: 'ISC', optionalDependencies: { 'silent-linux': '4.0.0' } },
  };
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
  const check = promisify(execFile)(process.execPath, [join(projectRoot, 'scripts/licenses.js'), '--check'], {
    cwd: folder,
  });
  await expect(check).rejects.toMatchObject({
    code: 1,
    stdout: 'joined@2.0.0 MIT AND GPL-3.0-only IS NOT ALLOWED\nsilent@3.0.0 unknown IS NOT ALLOWED\n',
  });
  await rm(folder, { recursive: true });
});
