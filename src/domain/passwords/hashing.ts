import { randomBytes } from 'node:crypto';
import { seconds } from '../../platform/clock.js';
import { accountAtWork } from '../../platform/context.js';
import { hashesRefused } from '../../platform/metrics/metrics.js';
import { createFairQueue } from '../limits/fair-queue.js';
import { digestOf, matchesHash } from './matching.js';
import { type Argon2Hash, readHash, type StoredHash } from './stored-hash.js';

/** The cost of an argon2id hash with one lane. */
export type Cost = Pick<Argon2Hash, 'memoryKib' | 'passes'>;

/** OWASP's argon2id profile, contract §3. After a change, everyone's password is hashed again at their next sign-in. */
const ofPasswords: Cost = { memoryKib: 19_456, passes: 2 };
/**
 * OWASP's profile with the least memory: half the time for ten at once (docs/decisions/0064). A change only concerns
 * new sets.
 */
const ofCodes: Cost = { memoryKib: 7_168, passes: 5 };

/** Longer than any password that can be set, in UTF-16 units. */
export const maxTypedLength = 1024;

/**
 * Unicode can write one password in several ways, and keyboards differ in which they send. A text that is longer than
 * any password is left as it is: ordering combining marks takes time that grows with the square of their number, and
 * blocks the process.
 */
export const normalized = (password: string): string =>
  password.length > maxTypedLength ? password : password.normalize('NFKC');

export interface HashingOptions {
  /** How many hashes are computed at once in this process: each takes a core, a thread of libuv's pool and 19 MB. */
  atOnce: number;
  /** How many of one Account may wait for their turn; twice as many altogether. More are refused. */
  maxWaiting?: number;
  /** The cost of each code of a new set; by default a profile that OWASP names. */
  costOfCodes?: Cost;
}

export interface Hashing {
  /** An argon2id PHC string with the current parameters. @throws DomainError service.unavailable if too many wait */
  hash(password: string): Promise<string>;
  /**
   * Whether the password matches the hash: one of ours, or an imported one of any algorithm that `readHash` knows.
   * Without a usable hash it takes as long as for one of ours and says no, so that the time does not tell whether there
   * is one.
   * @param whose the Account of the hash
   * @throws DomainError service.unavailable if too many wait
   */
  verify(hash: string | null, password: string, whose?: string): Promise<boolean>;
  /** Parameters of argon2id with a new salt, for a set of secrets that share it: a PHC string without its digest. */
  newParameters(): string;
  /**
   * The digest of a secret by the parameters of its set; 32 bytes.
   * @throws DomainError service.unavailable if too many wait
   */
  digest(parameters: string, secret: string): Promise<Buffer>;
  /** Whether a new hash would be refused now: anybody's, or this Account's. */
  isFull(whose?: string): boolean;
  /** How many hashes are being computed, and how many wait for their turn. */
  load(): { running: number; waiting: number };
}

/** Milliseconds that an imported hash may wait for its turn; by then its caller has been answered. */
const maxWait = seconds(15);

/**
 * Computes hashes in turns, so that a burst of sign-ins leaves threads and cores to everything else: tokens are signed
 * in the same thread pool. Accounts take turns, so that a burst at one of them delays the others by a few hashes; the
 * running request tells for which Account it works, where the caller does not. Imported hashes get half of the turns at
 * most: an Account that imports the most expensive hashes that are allowed, and signs in with them, delays nobody with
 * a hash of ours, and other Accounts' imported ones only for as long as one of its own takes.
 */
export function createHashing({ atOnce, maxWaiting, costOfCodes = ofCodes }: HashingOptions): Hashing {
  const onRefused = () => hashesRefused.inc();
  const queue = createFairQueue(atOnce, {
    ...(maxWaiting !== undefined && { maxQueued: 2 * maxWaiting, maxQueuedOfEach: maxWaiting }),
    onRefused,
  });
  const queueOfImported = createFairQueue(Math.max(1, Math.floor(atOnce / 2)), {
    ...(maxWaiting !== undefined && {
      maxQueued: maxWaiting,
      maxQueuedOfEach: Math.max(1, Math.floor(maxWaiting / 5)),
    }),
    withinMs: maxWait,
    onRefused,
  });
  const prove = (hash: StoredHash, text: string, whose = accountAtWork()): Promise<boolean> => {
    const work = () => queue(() => matchesHash(hash, text), whose);
    return costsAsOurs(hash) ? work() : queueOfImported(work, whose);
  };
  const digest = (parameters: string, secret: string) =>
    queue(() => digestOf(readHash(phc(parameters, unknownDigest)) as Argon2Hash, secret), accountAtWork());
  return {
    isFull: queue.isFull,
    // An imported one that is running has a turn of both.
    load: () => ({ ...queue.load(), waiting: queue.load().waiting + queueOfImported.load().waiting }),
    async hash(password) {
      const parameters = newParameters(ofPasswords);
      return phc(parameters, await digest(parameters, normalized(password)));
    },
    newParameters: () => newParameters(costOfCodes),
    digest,
    async verify(hash, password, whose) {
      const known = hash === null ? null : readHash(hash);
      // An imported hash may be of the text as it was typed, before normalization; if the two differ, both are always
      // computed.
      const texts = new Set([normalized(password), password]);
      let isRight = false;
      for (const text of texts) isRight = (await prove(known ?? dummy, text, whose)) || isRight;
      return isRight && known !== null;
    },
  };
}

const costsAsOurs = (hash: StoredHash): boolean =>
  hash.algorithm === 'argon2id' &&
  hash.memoryKib * hash.passes <= ofPasswords.memoryKib * ofPasswords.passes &&
  hash.memoryKib <= ofPasswords.memoryKib &&
  hash.lanes <= 1;

/**
 * Whether the hash is of another kind than today's, or weaker. An argon2id hash with stronger parameters stays as it
 * is.
 */
export function needsRehash(hash: string): boolean {
  const known = readHash(hash);
  if (known?.algorithm !== 'argon2id' || known.version !== 19) return true;
  return known.memoryKib < ofPasswords.memoryKib || known.passes < ofPasswords.passes;
}

// The library would write `m,p,t`, in an order that argon2's reference decoder refuses.
const newParameters = ({ memoryKib, passes }: Cost) =>
  `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$${base64(randomBytes(16))}`;
const phc = (parameters: string, digest: Buffer) => `${parameters}$${base64(digest)}`;
const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

const unknownDigest = Buffer.alloc(32);
// The hash of no password: random bytes in place of the digest, which cost the same to verify.
const dummy = readHash(phc(newParameters(ofPasswords), randomBytes(32))) as StoredHash;
