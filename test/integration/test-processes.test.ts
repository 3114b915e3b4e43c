import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { identityOf } from '../../src/platform/embedded/claims.js';
import { projectRoot } from '../../src/platform/root.js';
import { until } from '../support/until.js';

test('a process that a test has started ends with the test, even if that was killed', async () => {
  const program = `
    import { spawn } from 'node:child_process';
    import { endingWith } from '${pathToFileURL(join(projectRoot, 'dist/test/support/ending-with.js'))}';
    const lives = 'setInterval(() => {}, 1000)';
    console.log(spawn(process.execPath, [...endingWith(process.pid), '-e', lives]).pid);
    eval(lives);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [pid] = await once(parent.stdout, 'data');
  expect(identityOf(Number(pid))).toContain('end-with-parent');
  parent.kill('SIGKILL');
  await until('it has ended', () => identityOf(Number(pid)) === undefined);
});
