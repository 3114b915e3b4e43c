import argon2 from 'argon2';
import { newRecoveryCodes } from '../../src/domain/mfa/codes/recovery-code-form.js';
import { createRecoveryCodeHashes, type RecoveryCodeSet } from '../../src/domain/mfa/codes/recovery-code-hashes.js';
import { createHashing } from '../../src/domain/passwords/hashing.js';
import { hashSecret } from '../../src/platform/crypto/one-time-secret.js';
import { cheapCodes } from '../support/cheap-codes.js';

const plain = (code: string) => code.replaceAll('-', '');

/** Returns hashes that record how codes are stored, and which texts were hashed on the way. */
function newHashes() {
  const hashing = createHashing(cheapCodes);
  const hashed: string[] = [];
  const digest = (parameters: string, secret: string) => {
    hashed.push(secret);
    return hashing.digest(parameters, secret);
  };
  return { ...createRecoveryCodeHashes({ ...hashing, digest }), hashed };
}

test('recovery codes cost what OWASP requires of argon2id, each set with its own salt of 128 bits', async () => {
  const hashing = createHashing({ atOnce: 2 });
  const [one, other] = [hashing.newParameters(), hashing.newParameters()];
  expect(one).toMatch(/^\$argon2id\$v=19\$m=7168,t=5,p=1\$[A-Za-z0-9+/]{22}$/);
  expect(other).not.toBe(one);
  const digest = (await hashing.digest(one, 'ABCD')).toString('base64').replaceAll('=', '');
  expect(await argon2.verify(`${one}$${digest}`, 'ABCD')).toBe(true);
  expect(await argon2.verify(`${one}$${digest}`, 'ABCE')).toBe(false);
});

test('recovery codes are ten, hashed one by one with their set’s salt', async () => {
  const { newSet, hashed } = newHashes();
  const { codes, stored } = await newSet();
  expect(hashed).toEqual(codes.map(plain));
  expect(new Set(stored.map(({ hashParameters }) => hashParameters)).size).toBe(1);
  expect(new Set(stored.map(({ codeHash }) => codeHash.toString('hex'))).size).toBe(10);
});

test('recovery codes are found by one hash for each set, however they are typed', async () => {
  const { newSet, find, hashed } = newHashes();
  const sets = [await newSet(), await newSet()];
  const left = sets.flatMap(({ stored }) => stored);
  hashed.length = 0;
  const code = sets[1]?.codes[7] as string;
  expect(await find(left, ` ${code.toLowerCase().replaceAll('-', ' ')}`)).toBe(left[17]);
  expect(hashed).toEqual([plain(code), plain(code)]);
  const [others] = newRecoveryCodes();
  expect(await find(left, others as string)).toBeNull();
  expect(await find([...left.slice(0, 17), ...left.slice(18)], code)).toBeNull();
  hashed.length = 0;
  expect(await find([], code)).toBeNull();
  expect(hashed).toEqual([]);
});

test('recovery codes that cost more or less when created still work, and so do old SHA-256 ones', async () => {
  const dearer = createRecoveryCodeHashes(createHashing({ atOnce: 2, costOfCodes: { memoryKib: 128, passes: 2 } }));
  const { codes, stored } = await newHashes().newSet();
  const [ours = '', old = ''] = [codes[3], newRecoveryCodes()[0]];
  const left = [{ codeHash: hashSecret(plain(old)), hashParameters: null }, ...stored];
  expect(await dearer.find(left, ours)).toBe(left[4]);
  expect(await dearer.find(left, old)).toBe(left[0]);
  // A slow hash's stand-in is no SHA-256 of anything, and the other way round.
  expect(await dearer.find([{ ...stored[3], hashParameters: null } as (typeof stored)[0]], ours)).toBeNull();
});

describe('work that may need a set', () => {
  const wanting = () => {
    const sets: RecoveryCodeSet[] = [];
    const work = jest.fn(async (take: () => RecoveryCodeSet) => {
      sets.push(take());
      return 'done';
    });
    return { work, sets };
  };

  test('has one ready if it was expected', async () => {
    const { work, sets } = wanting();
    expect(await newHashes().withSet(true, work)).toBe('done');
    expect([work.mock.calls.length, sets.length]).toEqual([1, 1]);
  });

  test('is repeated with one if none was expected', async () => {
    const { work, sets } = wanting();
    expect(await newHashes().withSet(false, work)).toBe('done');
    expect([work.mock.calls.length, sets.length]).toEqual([2, 1]);
  });

  test('costs nothing if it needs none after all, and keeps its own failure', async () => {
    const { withSet, hashed } = newHashes();
    expect(await withSet(false, async () => 'none')).toBe('none');
    const failing = jest.fn(() => Promise.reject(new Error('gone')));
    await expect(withSet(false, failing)).rejects.toThrow('gone');
    expect(failing).toHaveBeenCalledTimes(1);
    expect(hashed).toEqual([]);
  });
});
