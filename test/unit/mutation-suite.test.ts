import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/platform/root.js';

const file = `
const parts = { isUp: true };
const hooked = { isUp: false };
beforeAll(() => { hooked.isUp = true; });
afterAll(() => {
  parts.isUp = hooked.isUp = false;
  console.log('ended');
});
test('everything is set up', () => expect([parts.isUp, hooked.isUp]).toEqual([true, true]));`;

const program = `
import { loadSuite } from ${JSON.stringify(pathToFileURL(join(projectRoot, 'test/mutation/suite.js')))};
const suite = await loadSuite(process.argv[1], []);
const [test] = suite.tests;
for (const _ of [1, 2]) {
  await suite.run(test);
  await suite.tearDown();
}
await suite.load();
await suite.tearDown();`;

// In a process of its own: a suite defines the globals of tests.
test('what a file sets up while it loads ends with its suite, and is there for the next test', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-suite-'));
  try {
    const path = join(folder, 'file.mjs');
    await writeFile(path, file);
    const inline = ['--input-type=module', '--eval', program, path];
    const { stdout } = await promisify(execFile)(process.execPath, inline, { cwd: projectRoot });
    expect(stdout).toBe('ended\nended\nended\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});
