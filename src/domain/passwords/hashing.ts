import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';

/** OWASP's argon2id profile, contract §3. A change here rehashes everyone at their next sign-in. */
const memoryCost = 19_456;
const timeCost = 2;
const parallelism = 1;

/** Unicode can write one password in several ways; keyboards differ in which they send. */
export const normalized = (password: string): string => password.normalize('NFKC');

/** An argon2id PHC string of the current parameters. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const options = { type: argon2.argon2id, memoryCost, timeCost, parallelism, salt, raw: true } as const;
  return phc(salt, await argon2.hash(normalized(password), options));
}

/**
 * Whether the password belongs to the hash, an argon2 PHC string of any parameters. Without a usable hash it works as
 * long and says no, so that the time does not tell whether there is one.
 */
export async function verifyPassword(hash: string | null, password: string): Promise<boolean> {
  const known = hash?.startsWith('$argon2') ? hash : null;
  const matches = await argon2.verify(known ?? dummyHash, normalized(password));
  return matches && known !== null;
}

/** Whether the hash is weaker than today's. One that was imported with stronger parameters stays as it is. */
export function needsRehash(hash: string): boolean {
  const [, id, version, parameters = ''] = hash.split('$');
  const { m, t } = Object.fromEntries(parameters.split(',').map((parameter) => parameter.split('=')));
  const strong = Number(m) >= memoryCost && Number(t) >= timeCost;
  return !(id === 'argon2id' && version === 'v=19' && strong);
}

// The library would write `m,p,t`, in an order that argon2's reference decoder refuses.
const phc = (salt: Buffer, digest: Buffer) =>
  `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${base64(salt)}$${base64(digest)}`;
const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

// Of no password at all: random bytes in the place of the digest cost a verification the same.
const dummyHash = phc(randomBytes(16), randomBytes(32));
