/** A parsed password hash: everything that is needed to compute it again. Salts and digests are bytes. */
export type StoredHash = Argon2Hash | ScryptHash | Pbkdf2Hash | BcryptHash;

interface Salted {
  salt: Buffer;
  digest: Buffer;
}
export interface Argon2Hash extends Salted {
  algorithm: 'argon2d' | 'argon2i' | 'argon2id';
  /** 16 (1.0) or 19 (1.3). */
  version: number;
  memoryKib: number;
  passes: number;
  lanes: number;
}
/** RFC 7914: N is 2 to the power of `logN`. */
export interface ScryptHash extends Salted {
  algorithm: 'scrypt';
  logN: number;
  blockSize: number;
  parallelism: number;
}
/** RFC 8018, with HMAC of this hash function. */
export interface Pbkdf2Hash extends Salted {
  algorithm: 'pbkdf2';
  hash: 'sha1' | 'sha256' | 'sha512';
  iterations: number;
}
export interface BcryptHash {
  algorithm: 'bcrypt';
  /** The number of rounds is 2 to the power of this. */
  cost: number;
  /** Treated as version `2b`: for passwords without NUL bytes it is the same under each of the three names. */
  text: string;
}

/**
 * Reads a PHC string (https://github.com/P-H-C/phc-string-format) of argon2, scrypt or PBKDF2, passlib's form of it, or
 * bcrypt's own form (`$2a$`, `$2b$`, `$2y$`).
 * @returns null for anything else; whether it costs too much is checked elsewhere
 */
export function readHash(text: string): StoredHash | null {
  const [before, id = '', ...parts] = text.split('$');
  if (before !== '') return null;
  if (/^2[aby]$/.test(id)) return readBcrypt(parts);
  if (/^argon2(d|i|id)$/.test(id)) return readArgon2(id as Argon2Hash['algorithm'], parts);
  if (id === 'scrypt') return readScrypt(parts);
  const hash = pbkdf2Hashes.get(id);
  return hash ? readPbkdf2(hash, parts) : null;
}

// `pbkdf2` alone is passlib's name for the one with SHA-1.
const pbkdf2Hashes = new Map<string, Pbkdf2Hash['hash']>([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha1', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
]);

function readArgon2(algorithm: Argon2Hash['algorithm'], parts: string[]): Argon2Hash | null {
  const hasVersion = parts[0]?.startsWith('v=') === true;
  const { v: version } = (hasVersion ? parametersOf(parts[0], ['v']) : { v: 16 }) ?? {}; // not written before 1.3
  const [parameters, ...salted] = hasVersion ? parts.slice(1) : parts;
  const { m, t, p } = parametersOf(parameters, ['m', 't', 'p']) ?? {};
  const bytes = saltedOf(salted);
  if (!bytes || (version !== 16 && version !== 19) || !m || !t || !p) return null;
  if (m < 8 * p || bytes.salt.length < 8) return null; // RFC 9106 §3.1
  return { algorithm, version, memoryKib: m, passes: t, lanes: p, ...bytes };
}

function readScrypt([parameters, ...salted]: string[]): ScryptHash | null {
  const { ln, r, p } = parametersOf(parameters, ['ln', 'r', 'p']) ?? {};
  const bytes = saltedOf(salted);
  if (!bytes || !ln || !r || !p) return null;
  if (ln >= 16 * r) return null; // RFC 7914 §2: N < 2^(128 * r / 8)
  return { algorithm: 'scrypt', logN: ln, blockSize: r, parallelism: p, ...bytes };
}

function readPbkdf2(hash: Pbkdf2Hash['hash'], [parameters, ...salted]: string[]): Pbkdf2Hash | null {
  const bare = numberOf(parameters); // passlib's
  const { i, l } = bare === null ? (parametersOf(parameters, ['i'], ['l']) ?? {}) : { i: bare };
  const bytes = saltedOf(salted);
  if (!bytes || !i || (l !== undefined && l !== bytes.digest.length)) return null;
  return { algorithm: 'pbkdf2', hash, iterations: i, ...bytes };
}

function readBcrypt([cost = '', rest = '', ...more]: string[]): BcryptHash | null {
  if (more.length > 0 || !/^\d\d$/.test(cost) || !/^[./A-Za-z0-9]{53}$/.test(rest)) return null;
  return { algorithm: 'bcrypt', cost: Number(cost), text: `$2b$${cost}$${rest}` };
}

/** The numbers of `m=1,t=2`, in any order; null if a name is missing, unknown or occurs twice. */
function parametersOf(
  text: string | undefined,
  required: readonly string[],
  optional: readonly string[] = [],
): Record<string, number> | null {
  const found: Record<string, number> = {};
  for (const parameter of text?.split(',') ?? []) {
    const [name = '', value, ...more] = parameter.split('=');
    const number = numberOf(value);
    const isKnown = required.includes(name) || optional.includes(name);
    if (!isKnown || Object.hasOwn(found, name) || number === null || more.length > 0) return null;
    found[name] = number;
  }
  return required.every((name) => Object.hasOwn(found, name)) ? found : null;
}

const numberOf = (text: string | undefined): number | null =>
  text !== undefined && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;

function saltedOf([salt, digest, ...more]: string[]): Salted | null {
  const bytes = { salt: bytesOf(salt), digest: bytesOf(digest) };
  return more.length === 0 && bytes.salt && bytes.digest ? (bytes as Salted) : null;
}

/** Base64 as in PHC strings, or passlib's with a dot for the plus. */
function bytesOf(text: string | undefined): Buffer | null {
  if (text === undefined || !/^[A-Za-z0-9+/.]+={0,2}$/.test(text)) return null;
  return Buffer.from(text.replaceAll('.', '+'), 'base64');
}
