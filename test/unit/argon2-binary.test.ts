import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { argon2, canTake, compiledArgon2, compiledBinary } from '../../src/domain/passwords/argon2.js';
import { projectRoot } from '../../src/platform/root.js';

const brought = join(
  projectRoot,
  `node_modules/argon2/prebuilds/${process.platform}-${process.arch}/argon2.glibc.node`,
);

describe('a binary that was compiled for AVX2', () => {
  const withIt = 'processor\t: 0\nflags\t\t: fpu sse2 avx avx2 bmi1\n';

  test.each([
    ['is used where the CPU has AVX2', brought, withIt, true],
    ['is not used where the CPU has AVX alone', brought, withIt.replace('avx2 ', ''), false],
    ['is not used where only a similar name is listed', brought, withIt.replace('avx2', 'avx2_vnni'), false],
    ['is not used where the features of the CPU are unknown', brought, '', false],
    ['is not used where it was not compiled', join(projectRoot, 'no-such.node'), withIt, false],
  ])('%s', (_, binary, cpuinfo, isTaken) => {
    expect(canTake(binary, cpuinfo)).toBe(isTaken);
  });

  test('is loaded by the package from where it was put, before the prebuilt one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'argon2-'));
    try {
      // This machine's binary, in place of one that a compiler made.
      const put = join(folder, relative(compiledArgon2, compiledBinary)).replace(
        'linux-x64',
        `${process.platform}-${process.arch}`,
      );
      await mkdir(dirname(put), { recursive: true });
      await cp(brought, put);
      const script = `require('argon2'); console.log(Object.keys(require.cache).filter((path) => path.endsWith('.node')).join())`;
      const options = { cwd: projectRoot, env: { ...process.env, ARGON2_PREBUILD: folder } };
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], options);
      expect(stdout).toBe(`${put}\n`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

// RFC 9106 §5, with whichever binary this machine has.
test.each([
  ['argon2d', '512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb'],
  ['argon2i', 'c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8'],
  ['argon2id', '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659'],
] as const)('%s returns the digest of the RFC', async (name, digest) => {
  const inputs = { salt: Buffer.alloc(16, 2), secret: Buffer.alloc(8, 3), associatedData: Buffer.alloc(12, 4) };
  const parameters = { type: argon2[name], memoryCost: 32, timeCost: 3, parallelism: 4, hashLength: 32 };
  const made = await argon2.hash(Buffer.alloc(32, 1), { ...inputs, ...parameters, raw: true });
  expect(made.toString('hex')).toBe(digest);
});
