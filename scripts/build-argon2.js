// Compiles argon2 for CPUs with AVX2, from the source that the package brings, beside the binary that it brings for every CPU. The
// service takes it where the CPU has AVX2 (src/domain/passwords/argon2.ts, docs/decisions/0087-argon2-for-avx2.md). It takes a C++
// compiler, make, Python and the headers of Node, which node-gyp downloads where they are not beside Node.
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
  // Not where it is installed: what is half compiled there would be loaded by whatever starts meanwhile.
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
