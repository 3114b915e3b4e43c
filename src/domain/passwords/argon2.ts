import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectRoot } from '../../platform/root.js';

const require = createRequire(import.meta.url);
const { version } = require('argon2/package.json') as { version: string };

/** Where `npm run build:argon2` puts the binary for CPUs with AVX2, in the layout that the package's loader expects. */
export const compiledArgon2 = join(projectRoot, `dist/native/argon2-${version}-avx2`);
export const compiledBinary = join(compiledArgon2, 'prebuilds/linux-x64/argon2.glibc.node');

/** Whether the binary for AVX2 can be used: it exists, and /proc/cpuinfo says that the CPU has AVX2. */
export const canTake = (binary: string, cpuinfo: string) => existsSync(binary) && /^flags\s*:.*\bavx2\b/m.test(cpuinfo);

// The file is long on a machine with many cores, and not needed if nothing was compiled.
const cpuinfo = [compiledBinary, '/proc/cpuinfo'].every(existsSync) ? readFileSync('/proc/cpuinfo', 'utf8') : '';

// The variable of node-gyp-build, the package's loader; if it is set, somebody has made a choice.
if (canTake(compiledBinary, cpuinfo)) process.env.ARGON2_PREBUILD ??= compiledArgon2;

/** Whether passwords are hashed by another binary than the package's own. */
export const isCompiled = process.env.ARGON2_PREBUILD !== undefined;

/**
 * The argon2 package, with the binary that was compiled for this CPU if there is one, or else its own. Both make the
 * same digests, the one with AVX2 half as many again (docs/decisions/0087-argon2-for-avx2.md).
 */
export const argon2: typeof import('argon2') = require('argon2');
