import { randomBytes } from 'node:crypto';
import { createSealing } from '../../src/platform/crypto/sealing.js';

const sealing = createSealing([{ id: 'k1', key: randomBytes(32) }]);

test('what was sealed opens again, for the purpose that it was sealed for and for no other', () => {
  const sealed = sealing.seal('secret', 'purpose');
  expect(sealing.open(sealed, 'purpose')).toBe('secret');
  expect(() => sealing.open(sealed, 'another purpose')).toThrow();
});

test.each([0, 4, 12, 16, 27])('a text without room for a full tag (%i bytes) is not sealed', (length) => {
  const short = `k1.${Buffer.alloc(length).toString('base64url')}`;
  expect(() => sealing.open(short, 'purpose')).toThrow('not a sealed text');
});

test('a sealed text has only one encoding, so that a used one cannot be presented as new', () => {
  for (const length of [1, 2, 3]) {
    const sealed = sealing.seal('x'.repeat(length), 'purpose');
    const [id, body = ''] = sealed.split('.');
    const last = body.at(-1) as string;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last character of base64url has unused bits.
    const siblings = [...alphabet].filter((one) => one !== last).map((one) => `${id}.${body.slice(0, -1)}${one}`);
    const others = [
      `${sealed}=`,
      `${sealed}==`,
      ` ${sealed}`,
      `${sealed}\n`,
      `${sealed}.`,
      `${sealed}.x`,
      `${sealed}!`,
    ];
    const base64 = `${id}.${body.replaceAll('-', '+').replaceAll('_', '/')}`;
    for (const other of [...siblings, ...others, ...(base64 === sealed ? [] : [base64])]) {
      expect(() => sealing.open(other, 'purpose')).toThrow();
    }
  }
});
