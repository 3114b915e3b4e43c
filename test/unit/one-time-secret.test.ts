import { equalInConstantTime, hashSecret, isSecret, newSecret } from '../../src/platform/crypto/one-time-secret.js';

test.each<[string | Buffer, string | Buffer, boolean]>([
  ['secret', 'secret', true],
  ['secret', 'Secret', false],
  ['secret', 'secrets', false],
  ['', 'secret', false],
  [Buffer.from('secret'), Buffer.from('secret'), true],
  [Buffer.from('secret'), Buffer.from('Secret'), false],
  [Buffer.from('secret'), Buffer.from('secrets'), false],
  ['secret', Buffer.from('secret'), true],
  [Buffer.from('Secret'), 'secret', false],
])('%j and %j are equal: %j', (one, other, isEqual) => {
  expect(equalInConstantTime(one, other)).toBe(isEqual);
  expect(equalInConstantTime(other, one)).toBe(isEqual);
});

test('a secret has 256 bits, which no other has, and is stored as its hash', () => {
  const [one, other] = [newSecret(), newSecret()];
  expect(Buffer.from(one, 'base64url')).toHaveLength(32);
  expect(one).not.toBe(other);
  expect(hashSecret('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('only a text of that form can be one of ours', () => {
  const secret = newSecret();
  expect(isSecret(secret)).toBe(true);
  for (const text of [null, '', ` ${secret}`, `${secret}x`, `${secret}\n`, secret.slice(1), `=${secret.slice(1)}`])
    expect(isSecret(text)).toBe(false);
});
