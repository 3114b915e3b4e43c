import { createHmac, randomBytes } from 'node:crypto';
import { generateSync, ScureBase32Plugin } from 'otplib';
import { readBase32 } from '../../src/domain/mfa/codes/base32.js';
import { totpSecretContext } from '../../src/domain/mfa/codes/totp.js';
import { type AppElsewhere, importableApps } from '../../src/domain/mfa/imported-apps.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';

const sealing = createSealing([{ id: 'test', key: randomBytes(32) }]);
/** "12345678901234567890", the secret of RFC 6238's appendix B. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const app = (more: Partial<AppElsewhere> = {}): AppElsewhere => ({
  secret: rfcSecret,
  algorithm: 'SHA1',
  digits: 6,
  period: 30,
  label: null,
  ...more,
});
const imported = (...apps: AppElsewhere[]) => importableApps(sealing, apps, 'mfa_factors');
const storedSecret = (typed: string) => {
  const [{ id, secret } = { id: '', secret: null }] = imported(app({ secret: typed }));
  return sealing.open(secret as string, totpSecretContext(id));
};
const refusalOf = (...apps: AppElsewhere[]) => {
  try {
    imported(...apps);
  } catch (error) {
    const { code, options } = error as { code: string; options: { details: { field: string; code: string }[] } };
    return [code, ...options.details.map((detail) => `${detail.field} ${detail.code}`)];
  }
  return null;
};

/** RFC 4226 §5.3, without any library. */
function codeOf(key: Buffer, epoch: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(epoch / 30)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const at = (digest.at(-1) as number) & 0xf;
  return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

test('a secret of every length that is accepted yields the codes that its app shows', () => {
  const { encode } = new ScureBase32Plugin();
  for (let length = 16; length <= 64; length += 1) {
    const key = randomBytes(length);
    const secret = storedSecret(encode(key, { padding: length % 2 === 0 }));
    expect(generateSync({ secret, epoch: 1_111_111_109 })).toBe(codeOf(key, 1_111_111_109));
  }
  expect(codeOf(Buffer.from('12345678901234567890'), 59)).toBe('287082'); // RFC 6238, appendix B
});

test('bits that fill no byte are ignored, as authenticator apps do', () => {
  const key = randomBytes(17);
  const text = new ScureBase32Plugin().encode(key);
  const last = text.at(-1) as string; // one bit of it counts
  const other = last === 'A' ? 'P' : '7';
  expect([last, other].map((digit) => readBase32(text.slice(0, -1) + digit))).toEqual(
    Array(2).fill({ text, bytes: 17 }),
  );
});

test.each([
  ['another alphabet', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1'],
  ['lower case, such as a key that was not encoded', 'gezdgnbvgy3tqojqgezdgnbvgy3tqojq'],
  ['blanks between groups', 'GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ'],
  ['= in the middle', 'GEZDGNBV=Y3TQOJQGEZDGNBVGY3TQOJQ'],
  ['a length that no number of bytes has', `${rfcSecret}A`],
  ['Base64', Buffer.from('12345678901234567890').toString('base64')],
  ['nothing', '='],
])('a secret in %s is refused', (_, secret) => {
  expect(refusalOf(app({ secret }))).toEqual(['mfa.secret_unreadable', 'mfa_factors[0].secret base32']);
});

test('a secret of less than 128 or more than 512 bits is refused', () => {
  const { encode } = new ScureBase32Plugin();
  const outcomes = [15, 16, 64, 65].map((length) => refusalOf(app({ secret: encode(randomBytes(length)) })));
  const refused = ['mfa.secret_out_of_bounds', 'mfa_factors[0].secret secret_length'];
  expect(outcomes).toEqual([refused, null, null, refused]);
});

test('an app with other codes is refused, and every difference is named', () => {
  const code = 'mfa.parameters_not_supported';
  expect(refusalOf(app(), app({ secret: 'A'.repeat(32), algorithm: 'SHA256', digits: 8, period: 60 }))).toEqual([
    code,
    ...['algorithm', 'digits', 'period'].map((name) => `mfa_factors[1].${name} not_supported`),
  ]);
  expect(refusalOf(app({ digits: 8 }))).toEqual([code, 'mfa_factors[0].digits not_supported']);
});

test('one secret twice is refused, however it is written: each of its codes would work twice', () => {
  expect(refusalOf(app(), app({ secret: `${rfcSecret}======`, label: 'Another' }))).toEqual([
    'mfa.already_enrolled',
    'mfa_factors[1].secret repeated',
  ]);
});

test('so is one with zeros at its end, which HMAC adds to every key', () => {
  const { encode } = new ScureBase32Plugin();
  const key = Buffer.from('12345678901234567890');
  const longer = Buffer.concat([key, Buffer.alloc(3)]);
  expect(codeOf(longer, 59)).toBe(codeOf(key, 59));
  const other = Buffer.concat([key, Buffer.from([0, 1])]);
  expect(refusalOf(app(), app({ secret: encode(other) }), app({ secret: encode(longer) }))).toEqual([
    'mfa.already_enrolled',
    'mfa_factors[2].secret repeated',
  ]);
});

test('a factor is named as its owner named it, in what a list can show', () => {
  const labels = imported(
    app({ label: ' My\nphone ' }),
    app({ secret: 'A'.repeat(32), label: '\u0000' }),
    app({ secret: 'B'.repeat(32) }),
  );
  expect(labels.map(({ label }) => label)).toEqual(['My phone', 'Authenticator app', 'Authenticator app']);
});
