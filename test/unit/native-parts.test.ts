import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/platform/root.js';

/**
 * An installation without install scripts or a compiler has the packages' prebuilt binaries. That of argon2 0.45 ends
 * Node 20 by a segmentation fault (docs/decisions/0086).
 */
test.each(['argon2', 'bcrypt'])('%s loads as installed, without being compiled here', async (name) => {
  const env = { ...process.env, PREBUILDS_ONLY: '1' };
  const script = `console.log(typeof require('${name}').hash)`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: projectRoot, env });
  expect(stdout).toBe('function\n');
});
