import { randomBytes } from 'node:crypto';
import { seconds } from '../../platform/clock.js';
import { hashesRefused } from '../../platform/metrics/metrics.js';
import { createFairQueue } from '../fair-queue.js';
import { digestOf, matchesHash } from './matching.js';
import { type Argon2Hash, readHash, type StoredHash } from './stored-hash.js';

/** What an argon2id of one lane costs. */
export type Cost = Pick<Argon2Hash, 'memoryKib' | 'passes'>;

/** OWASP's argon2id profile, contract §3. A change here rehashes everyone at their next sign-in. */
const ofPasswords: Cost = { memoryKib: 19_456, passes: 2 };
/** OWASP's profile of the least memory: half as long for ten at once (docs/decisions/0064). A change counts for new sets. */
const ofCodes: Cost = { memoryKib: 7_168, passes: 5 };

/** More than any password that can be set, in UTF-16 units. */
export const longestTyped = 1024;

/**
 * Unicode can write one password in several ways; keyboards differ in which they send. What is longer than any password stays as it came: combining
 * marks are ordered in a time that grows by the square of their number, and nobody else is answered meanwhile.
 */
export const normalized = (password: string): string =>
  password.length > longestTyped ? password : password.normalize('NFKC');

export interface HashingOptions {
  /** How many hashes are computed at once in this process: each takes a core, a thread of libuv's pool and 19 MB. */
  atOnce: number;
  /** How many may wait for their turn; who comes then is refused. */
  mostWaiting?: number;
  /** What each code of a new set costs; by default a profile that OWASP names. */
  costOfCodes?: Cost;
}

export interface Hashing {
  /** An argon2id PHC string of the current parameters. @throws DomainError service.unavailable where too many wait */
  hash(password: string): Promise<string>;
  /**
   * Whether the password belongs to the hash: one of ours, or an imported one of any algorithm that `readHash` knows. Without a
   * usable hash it works as long as for one of ours and says no, so that the time does not tell whether there is one.
   * @param whose of whom the hash is: imported ones of one Account take turns with those of others
   * @throws DomainError service.unavailable where too many wait
   */
  verify(hash: string | null, password: string, whose?: string): Promise<boolean>;
  /** Of argon2id, with a new salt, for a set of secrets that share it: a PHC string without its digest. */
  newParameters(): string;
  /** 32 bytes: a secret by the parameters of its set. @throws DomainError service.unavailable where too many wait */
  digest(parameters: string, secret: string): Promise<Buffer>;
  /** Whether a hash that was asked for now would be refused. */
  isFull(): boolean;
  /** How many hashes are computed now, and how many wait for their turn. */
  line(): { running: number; waiting: number };
}

/** Milliseconds until an imported hash has its turn: whoever waits longer has been answered already. */
const longestWait = seconds(15);

/**
 * Hashes in turns, so that a burst of sign-ins leaves threads and cores to everything else: tokens are signed in the same pool.
 * Imported hashes take half of the turns at most: whoever imports the dearest ones that are allowed and signs in with them
 * keeps nobody waiting whose hash is ours, and of others' imported ones each as long as one of theirs.
 */
export function createHashing({ atOnce, mostWaiting, costOfCodes = ofCodes }: HashingOptions): Hashing {
  const line = {
    ...(mostWaiting !== undefined && { longest: mostWaiting }),
    onRefused: () => hashesRefused.inc(),
  };
  const turns = createFairQueue(atOnce, line);
  const turnsOfImported = createFairQueue(Math.max(1, Math.floor(atOnce / 2)), {
    ...line,
    ...(mostWaiting !== undefined && { longestOfEach: Math.max(1, Math.floor(mostWaiting / 5)) }),
    withinMs: longestWait,
  });
  const prove = (hash: StoredHash, text: string, whose?: string): Promise<boolean> => {
    const work = () => turns(() => matchesHash(hash, text));
    return costsAsOurs(hash) ? work() : turnsOfImported(work, whose);
  };
  const digest = (parameters: string, secret: string) =>
    turns(() => digestOf(readHash(phc(parameters, unknownDigest)) as Argon2Hash, secret));
  return {
    isFull: turns.isFull,
    // An imported one that runs has a turn of both.
    line: () => ({ ...turns.line(), waiting: turns.line().waiting + turnsOfImported.line().waiting }),
    async hash(password) {
      const parameters = newParameters(ofPasswords);
      return phc(parameters, await digest(parameters, normalized(password)));
    },
    newParameters: () => newParameters(costOfCodes),
    digest,
    async verify(hash, password, whose) {
      const known = hash === null ? null : readHash(hash);
      // An imported hash may be of what was typed as it was typed; whoever types the same in two forms waits for both, always.
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

/** Whether the hash is another than one of today's, or weaker. An argon2id with stronger parameters stays as it is. */
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
// Of no password at all: random bytes in the place of the digest cost a verification the same.
const dummy = readHash(phc(newParameters(ofPasswords), randomBytes(32))) as StoredHash;
