import { parseMasterKeys } from '../../src/platform/crypto/master-keys.js';

const key = (byte: number, length = 32) => Buffer.alloc(length, byte).toString('base64');

test('master keys are read in their order, in either alphabet of base64, with or without padding and blanks', () => {
  const urlSafe = Buffer.alloc(32, 0xff).toString('base64url');
  expect(parseMasterKeys(`new:${key(1)}, ${'x'.repeat(32)}:${urlSafe} ,k_1-a:${key(3).replace('=', '')}`)).toEqual([
    { id: 'new', key: Buffer.alloc(32, 1) },
    { id: 'x'.repeat(32), key: Buffer.alloc(32, 0xff) },
    { id: 'k_1-a', key: Buffer.alloc(32, 3) },
  ]);
});

test.each([
  ['nothing', ''],
  ['no id', key(1)],
  ['an empty id', `:${key(1)}`],
  ['an id that is too long', `${'x'.repeat(33)}:${key(1)}`],
  ['an id with a dot, which separates it from what it sealed', `a.b:${key(1)}`],
  ['a word before the id', `the a:${key(1)}`],
  ['a word after the key', `a:${key(1)} b`],
  ['31 bytes', `a:${key(1, 31)}`],
  ['33 bytes', `a:${key(1, 33)}`],
  ['a comma at the end', `a:${key(1)},`],
])('%s is no list of master keys', (_name, text) => {
  expect(() => parseMasterKeys(text)).toThrow('must be id:base64[,id:base64] with 32 bytes each');
});

test('an id names one key', () => {
  expect(() => parseMasterKeys(`a:${key(1)},b:${key(2)},a:${key(3)}`)).toThrow('names a key id twice');
});
