import argon2 from 'argon2';
import bcrypt from 'bcrypt';
import { needsRehash } from '../../src/domain/passwords/hashing.js';
import { importable } from '../../src/domain/passwords/importable.js';
import { readHash } from '../../src/domain/passwords/stored-hash.js';
import { hashPassword, verifyPassword } from '../support/password-hashing.js';

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
const ofHex = (hex: string) => base64(Buffer.from(hex, 'hex'));
const ofText = (text: string) => base64(Buffer.from(text));
const refusal = (code: string, limit?: string) =>
  expect.objectContaining({
    code,
    ...(limit && { options: { details: [expect.objectContaining({ field: 'password_hash', code: limit })] } }),
  });
const refused = (hash: string) => {
  try {
    importable(hash, 'password_hash');
    return null;
  } catch (error) {
    return error;
  }
};

/** Published test vectors: [where, password, hash]. */
const vectors: [string, string, string][] = [
  // phc-winner-argon2, src/test.c
  ['argon2id', 'password', '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'],
  ['argon2i', 'password', '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA'],
  ['argon2i 1.0', 'password', '$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ'],
  [
    'scrypt, RFC 7914 §12',
    'password',
    `$scrypt$ln=10,r=8,p=16$${ofText('NaCl')}$${ofHex('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640')}`,
  ],
  [
    'scrypt, RFC 7914 §12',
    'pleaseletmein',
    `$scrypt$ln=14,r=8,p=1$${ofText('SodiumChloride')}$${ofHex('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887')}`,
  ],
  [
    'PBKDF2 with SHA-1, RFC 6070',
    'password',
    `$pbkdf2$4096$${ofText('salt')}$${ofHex('4b007901b765489abead49d926f721d065a429c1')}`,
  ],
  [
    'PBKDF2 with SHA-1, RFC 6070, NUL bytes',
    'pass\0word',
    `$pbkdf2-sha1$i=4096,l=16$${ofText('sa\0lt')}$${ofHex('56fa6aa75548099dcc37d7f03425e0c3')}`,
  ],
  [
    'PBKDF2 with SHA-256, RFC 7914 §11',
    'passwd',
    `$pbkdf2-sha256$i=1$${ofText('salt')}$${ofHex('55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783').slice(0, 86)}`,
  ],
  [
    'PBKDF2 with SHA-256, passlib’s documentation',
    'toomanysecrets',
    '$pbkdf2-sha256$29000$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A.WF/Z5JZv.lfCIhXXN33N23OSgQYThBYRfk',
  ],
  [
    'PBKDF2 with SHA-512, hashcat’s example of mode 20200',
    'hashcat',
    '$pbkdf2-sha512$25000$LyWE0HrP2RsjZCxlDGFMKQ$1vC5Ohk2mCS9b6akqsEfgeb4l74SF8XjH.SljXf3dMLHdlY1GK9ojcCKts6/asR4aPqBmk74nCDddU3tvSCJvw',
  ],
  // crypt_blowfish, wrapper.c
  ['bcrypt', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['bcrypt 2y', 'U*U*', '$2y$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK'],
  ['bcrypt 2b', 'U*U*U', '$2b$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a'],
  ['bcrypt of nothing', '', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy'],
];

test.each(vectors)(
  '%s: the right password matches, no other does, and a weaker one is rehashed',
  async (_, password, hash) => {
    expect(refused(hash)).toBeNull();
    await expect(verifyPassword(hash, password)).resolves.toBe(true);
    await expect(verifyPassword(hash, `${password}.`)).resolves.toBe(false);
    // One of them is as strong as ours.
    expect(needsRehash(hash)).toBe(!hash.startsWith('$argon2id'));
  },
);

test('argon2d, whose published vectors have a secret that no such string holds, is computed by the library', async () => {
  const hash = await argon2.hash('imported', { type: argon2.argon2d, memoryCost: 1024, timeCost: 2, parallelism: 2 });
  expect(refused(hash)).toBeNull();
  await expect(verifyPassword(hash, 'imported')).resolves.toBe(true);
  await expect(verifyPassword(hash, 'Imported')).resolves.toBe(false);
});

describe('bcrypt', () => {
  test('compares 72 bytes of a password, under each of its names', async () => {
    const long = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored';
    for (const name of ['2a', '2b', '2y']) {
      const hash = `$${name}$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui`; // crypt_blowfish, wrapper.c
      await expect(verifyPassword(hash, long)).resolves.toBe(true);
      await expect(verifyPassword(hash, long.slice(0, 72))).resolves.toBe(true);
      await expect(verifyPassword(hash, `${long.slice(0, 72)}other`)).resolves.toBe(true);
      await expect(verifyPassword(hash, long.slice(0, 71))).resolves.toBe(false);
      await expect(verifyPassword(hash, 'é'.repeat(36))).resolves.toBe(false);
    }
    // Some implementations stored a password's length in one byte: 255 bytes and more counted as nothing.
    const hash = await bcrypt.hash('x'.repeat(300), 4);
    await expect(verifyPassword(hash.replace('$2b$', '$2a$'), 'x'.repeat(300))).resolves.toBe(true);
    await expect(verifyPassword(hash.replace('$2b$', '$2a$'), 'y')).resolves.toBe(false);
  });

  test('matches no password with a NUL byte, whatever follows it', async () => {
    const hash = await bcrypt.hash('before', 4);
    await expect(verifyPassword(hash, 'before\0after')).resolves.toBe(false);
    await expect(verifyPassword(await bcrypt.hash('', 4), '\0')).resolves.toBe(false);
    await expect(verifyPassword(await bcrypt.hash('before\0after', 4), 'before\0after')).resolves.toBe(false);
  });
});

test('a hash of what was typed, or of its NFKC form, matches what is typed in either form', async () => {
  const typed = 'Gru\u0308\u00dfe \ufb01nden';
  for (const hashed of [typed, typed.normalize('NFKC')]) {
    const hash = await bcrypt.hash(hashed, 4);
    await expect(verifyPassword(hash, typed)).resolves.toBe(true);
  }
});

test('an unknown format is unreadable, and matches nothing', async () => {
  const ours = await hashPassword('correct horse');
  const [, , version, parameters, salt, digest] = ours.split('$');
  const argon2id = (text: string) => `$argon2id$${text}$${salt}$${digest}`;
  const unreadable = [
    ...['', 'x', '$', '$$$$$$', '5f4dcc3b5aa765d61d8327deb882cf99', '$1$abc$def', '$6$rounds=5000$a$b'],
    ...['$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', '$2b$05$tooshort', '$2b$5$C'],
    ...['$constructor$i=1$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA', '$__proto__$1$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA'],
    ...[' ', '\n', 'x'].map((around) => around + ours),
    ...[`${ours}$`, `${ours}\n`, `$argon2id$${version}$${parameters}$${salt}`, ours.replace('v=19', 'v=18')],
    ...['m=19456,t=2', 'm=19456,t=2,p=1,p=1', 'm=19456,t=2,p=1,keyid=AAAA', 'm=-1,t=2,p=1', 'm=1e9,t=2,p=1'].map(
      (text) => argon2id(`v=19$${text}`),
    ),
    argon2id('v=19$m=7,t=2,p=1'), // fewer than 8 blocks per lane
    '$scrypt$ln=16,r=1,p=1$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA', // N is too large for r
    '$scrypt$ln=0,r=8,p=1$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA',
    '$pbkdf2-sha256$i=0$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA',
    '$pbkdf2-sha256$i=1,l=32$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA', // the digest has another length
    '$pbkdf2-md5$i=1$c2FsdA$AAAAAAAAAAAAAAAAAAAAAA',
  ];
  for (const text of unreadable) {
    expect([text, readHash(text)]).toEqual([text, null]);
    expect(refused(text)).toEqual(refusal('password.hash_unreadable'));
  }
  await expect(verifyPassword('not a hash', 'correct horse')).resolves.toBe(false);
});

test('a hash that would cost too much is refused with the limit, and the most expensive allowed one is computed', async () => {
  const digest = 'A'.repeat(43);
  const salt = 'c29tZXNhbHQ';
  const b = (cost: string) => `$2b$${cost}$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW`;
  const outside: [string, string][] = [
    ['argon2_memory', `$argon2id$v=19$m=131073,t=1,p=1$${salt}$${digest}`],
    ['argon2_memory', `$argon2id$v=19$m=4294967295,t=1,p=1$${salt}$${digest}`],
    ['argon2_work', `$argon2id$v=19$m=131072,t=5,p=1$${salt}$${digest}`],
    ['argon2_work', `$argon2id$v=19$m=8,t=999999999,p=1$${salt}$${digest}`],
    ['argon2_lanes', `$argon2id$v=19$m=19456,t=2,p=17$${salt}$${digest}`],
    ['scrypt_work', `$scrypt$ln=17,r=8,p=2$${salt}$${digest}`],
    ['scrypt_work', `$scrypt$ln=4294967295,r=999999999,p=1$${salt}$${digest}`],
    ['scrypt_work', `$scrypt$ln=1,r=8,p=999999999$${salt}$${digest}`],
    ['pbkdf2_iterations', `$pbkdf2-sha256$2000001$${salt}$${digest}`],
    ['pbkdf2_iterations', `$pbkdf2$1000000$${salt}$${'A'.repeat(80)}`], // three blocks of SHA-1
    ['bcrypt_cost', b('15')],
    ['bcrypt_cost', b('31')],
    ['bcrypt_cost', b('03')],
    ['salt_length', `$pbkdf2-sha256$1$${'A'.repeat(172)}$${digest}`],
    ['digest_length', `$pbkdf2-sha256$1$${salt}$AAAA`],
    ['digest_length', `$pbkdf2-sha256$1$${salt}$${'A'.repeat(90)}`],
  ];
  for (const [limit, hash] of outside)
    expect([hash, refused(hash)]).toEqual([hash, refusal('password.hash_out_of_bounds', limit)]);
  const within = [
    `$argon2id$v=19$m=131072,t=4,p=16$${salt}$${digest}`,
    `$scrypt$ln=17,r=8,p=1$${salt}$${digest}`, // OWASP
    `$pbkdf2-sha1$2000000$${salt}$${'A'.repeat(27)}`,
  ];
  for (const hash of [...within, b('14')]) expect(refused(hash)).toBeNull();
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  for (const hash of within) await expect(verifyPassword(hash, 'wrong')).resolves.toBe(false);
  clearInterval(counting);
  // Hashing is not on the event loop, which would have one turn for each.
  expect(turns).toBeGreaterThan(10 * within.length);
});
