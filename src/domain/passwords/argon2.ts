import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectRoot } from '../../platform/root.js';

const require = createRequire(import.meta.url);
const { version } = require('argon2/package.json') as { version: string };

/** Where `npm run build:argon2` puts what it compiles for CPUs with AVX2, as the package's loader looks for binaries. */
export const compiledArgon2 = join(projectRoot, `dist/native/argon2-${version}-avx2`);
export const compiledBinary = join(compiledArgon2, 'prebuilds/linux-x64/argon2.glibc.node');

/** Whether a binary that was compiled for AVX2 can be taken: it is there, and the CPU has AVX2 by /proc/cpuinfo. */
export const canTake = (binary: string, cpuinfo: string) => existsSync(binary) && /^flags\s*:.*\bavx2\b/m.test(cpuinfo);

// Long on a machine with many cores, and for nothing where none was compiled.
const cpuinfo = [compiledBinary, '/proc/cpuinfo'].every(existsSync) ? readFileSync('/proc/cpuinfo', 'utf8') : '';

// What node-gyp-build, the package's loader, goes by; whoever has set it has chosen.
if (canTake(compiledBinary, cpuinfo)) process.env.ARGON2_PREBUILD ??= compiledArgon2;

/** Whether passwords are hashed by a binary that the package did not bring. */
export const isCompiled = process.env.ARGON2_PREBUILD !== undefined;

/**
 * The argon2 package, by the binary that was compiled for this CPU if there is one, or by that which the package brings: the same
 * digests, of which the one with AVX2 makes half as many again (docs/decisions/0087-argon2-for-avx2.md).
 */
export const argon2: typeof import('argon2') = require('argon2');
