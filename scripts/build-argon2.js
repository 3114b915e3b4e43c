// Compiles argon2 for CPUs with AVX2 from the package's source, in addition to its binary for every CPU. The service
// uses it if the CPU has AVX2 (src/domain/passwords/argon2.ts, docs/decisions/0087-argon2-for-avx2.md). This needs a
// C++ compiler, make, Python and Node's headers, which node-gyp downloads if they are not installed with Node.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compiledArgon2, compiledBinary } from '../dist/src/domain/passwords/argon2.js';

if (process.platform !== 'linux' || process.arch !== 'x64') {
  process.stdout.write(
    'Nothing to gain here: the source of argon2 has instructions of its own for x64 alone. Left as it comes.\n',
  );
  process.exit();
}

const headers = dirname(dirname(process.execPath));
const work = mkdtempSync(join(tmpdir(), 'argon2-'));
try {
  // Not in the installed package: a process that starts meanwhile would load a half-compiled file.
  for (const name of ['argon2', 'node-addon-api'])
    cpSync(join('node_modules', name), join(work, 'node_modules', name), { recursive: true });
  execFileSync('node-gyp', ['rebuild', '--directory', join(work, 'node_modules/argon2')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      CFLAGS: '-mavx2',
      CXXFLAGS: '-mavx2',
      ...(existsSync(join(headers, 'include/node/node_api.h')) && { npm_config_nodedir: headers }),
      npm_config_loglevel: 'warn',
    },
  });
  rmSync(compiledArgon2, { recursive: true, force: true });
  mkdirSync(dirname(compiledBinary), { recursive: true });
  cpSync(join(work, 'node_modules/argon2/build/Release/argon2.node'), compiledBinary);
} finally {
  rmSync(work, { recursive: true, force: true });
}
