import { randomBytes } from 'node:crypto';
import { openSealedJson } from '../../src/platform/crypto/sealed-json.js';
import { createSealing, UnknownMasterKey } from '../../src/platform/crypto/sealing.js';

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

test('an empty text is sealed like any other', () => {
  expect(sealing.open(sealing.seal('', 'purpose'), 'purpose')).toBe('');
});

describe('with a new master key in front of another', () => {
  const [former, current] = ['former', 'current'].map((id) => ({ id, key: randomBytes(32) })) as [Key, Key];
  type Key = { id: string; key: Buffer };
  const [before, both, after] = [createSealing([former]), createSealing([current, former]), createSealing([current])];

  test('texts of both open, new ones are sealed with the first, and the others are stale', () => {
    const [old, anew] = [before.seal('old', 'purpose'), both.seal('new', 'purpose')];
    expect([both.open(old, 'purpose'), after.open(anew, 'purpose')]).toEqual(['old', 'new']);
    expect([both.isStale(old), both.isStale(anew), both.currentId]).toEqual([true, false, 'current']);
    expect(both.isStale(anew.replace('current', 'current2'))).toBe(true);
  });

  test('a text of a key that is not configured names that key', () => {
    const old = before.seal('old', 'purpose');
    expect(() => after.open(old, 'purpose')).toThrow(new UnknownMasterKey('former'));
    expect(() => after.derive('link', 'subject', 'former')).toThrow(new UnknownMasterKey('former'));
    expect([after.has('former'), both.has('former')]).toEqual([false, true]);
    expect(openSealedJson(after, old, 'purpose')).toBeNull();
  });

  test('a secret is derived again by the key that it was derived with', () => {
    const { keyId, secret } = before.derive('link', 'subject');
    expect(keyId).toBe('former');
    expect(both.derive('link', 'subject', keyId)).toEqual({ keyId, secret });
    expect(both.derive('link', 'subject').keyId).toBe('current');
    const others = [both.derive('link', 'subject'), before.derive('link', 'other'), before.derive('mail', 'subject')];
    for (const other of others) expect(other.secret).not.toEqual(secret);
  });

  test('a key is identified by a value that is neither itself nor what it derives', () => {
    const value = both.checkValue('former');
    expect(value).toEqual(before.checkValue('former'));
    expect(value).not.toEqual(both.checkValue('current'));
    expect([former.key.equals(value as Buffer), after.checkValue('former')]).toEqual([false, null]);
  });
});

test('sealed JSON opens for its purpose; anything else is nothing', () => {
  const sealed = sealing.seal('{"a":1}', 'purpose');
  expect(openSealedJson(sealing, sealed, 'purpose')).toEqual({ a: 1 });
  expect(openSealedJson(sealing, sealed, 'another purpose')).toBeNull();
  expect(openSealedJson(sealing, sealing.seal('{', 'purpose'), 'purpose')).toBeNull();
});

test('there is no sealing without a master key', () => {
  expect(() => createSealing([])).toThrow('at least one master key is needed');
});
