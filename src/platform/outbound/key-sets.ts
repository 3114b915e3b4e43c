import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { type Clock, days, minutes, seconds } from '../clock.js';
import { OutboundError, type OutboundReason } from './errors.js';
import type { Outbound } from './fetch.js';

export interface KeySets {
  /** The public keys behind a URL (RFC 7517 §5), as jose's key resolver. */
  at(uri: string): Promise<JWTVerifyGetKey>;
  /**
   * The same for what their owner itself has just sent: nobody else makes us fetch by it, so that a key of this very moment is found.
   * `newer` are those of a reading that began after this call; whoever asks meanwhile shares it.
   */
  ofJustNow(uri: string): Promise<{ keys: JWTVerifyGetKey; newer(): Promise<JWTVerifyGetKey> }>;
}

const keptFor = minutes(5);
/** A new key is looked for at once, but nobody can make us fetch all the time. */
const rereadAtUnknownKey = seconds(10);
/** Whoever asks during a call, or this long after it, shares it and its failure: a flood of questions is no flood of calls. */
const sharedFor = seconds(3);
/** Keys that could not be read are tried again after this time, and nobody whom known keys can serve waits for that. */
const rereadAfterFailure = seconds(30);
/** Keys that were read count on for so long where they cannot be read again: their owner's site may be away for a while. */
const countOnFor = days(1);
const keptAtMost = 1000;

interface Kept {
  /** The last that could be read: a later failure takes nobody's key away. */
  read: { at: number; keys: JWTVerifyGetKey } | null;
  /** `endedAt` is null while it runs. */
  reading: { endedAt: number | null; keys: Promise<JWTVerifyGetKey> } | null;
  /** How many have begun. */
  begun: number;
  /** Whether the last one that ended has failed. */
  isFailing: boolean;
}

export interface KeySetsDeps {
  outbound: Pick<Outbound, 'get'>;
  /** What is thrown where keys cannot be read. `away`: what was called did not answer, and may do so soon. */
  unreadable: (why: 'away' | 'wrong') => Error;
  now: Clock;
}

/** Fetches and keeps the key sets of others, through the guard of all URLs that tenants give. */
export function createKeySets({ outbound, unreadable, now }: KeySetsDeps): KeySets {
  const kept = new Map<string, Kept>();
  const wrong = () => unreadable('wrong');

  async function fetched(uri: string, maxAge: number): Promise<JWTVerifyGetKey> {
    const known = keptOf(uri);
    if (known.read && ageOf(known.read.at) < maxAge) return known.read.keys;
    if (known.reading && timeSince(known.reading) < sharedFor) return known.reading.keys;
    return begin(uri, known);
  }

  async function begin(uri: string, known: Kept): Promise<JWTVerifyGetKey> {
    const at = now().getTime();
    known.begun++;
    const reading: NonNullable<Kept['reading']> = {
      endedAt: null,
      keys: read(uri).then((body) => keySetOf(body, wrong)),
    };
    known.reading = reading;
    try {
      const keys = await reading.keys;
      known.read = { at, keys };
      known.isFailing = false;
      return keys;
    } catch (error) {
      known.isFailing = true;
      throw error;
    } finally {
      reading.endedAt = now().getTime();
    }
  }

  /** Of a moment ahead, too: where the clock was set back, nothing is young for as long as that. */
  const ageOf = (at: number) => Math.abs(now().getTime() - at);
  const timeSince = ({ endedAt }: { endedAt: number | null }) => (endedAt === null ? 0 : ageOf(endedAt));

  /** Those that are fresh, or, where none can be read, the last ones. */
  async function current(uri: string): Promise<JWTVerifyGetKey> {
    const { read: last, reading, isFailing } = keptOf(uri);
    const isUsable = last !== null && ageOf(last.at) < countOnFor;
    if (isUsable && isFailing && reading) {
      if (timeSince(reading) >= rereadAfterFailure) fetched(uri, keptFor).catch(() => {}); // it failed once more, and may again
      return last.keys;
    }
    try {
      return await fetched(uri, keptFor);
    } catch (error) {
      if (isUsable) return last.keys;
      throw error;
    }
  }

  function keptOf(uri: string): Kept {
    const known = kept.get(uri) ?? { read: null, reading: null, begun: 0, isFailing: false };
    if (kept.size >= keptAtMost && !kept.has(uri)) kept.clear();
    kept.set(uri, known);
    return known;
  }

  async function read(uri: string): Promise<unknown> {
    try {
      const { status, body } = await outbound.get(uri, { accept: 'application/json' });
      if (status !== 200) throw unreadable(status >= 500 ? 'away' : 'wrong');
      return JSON.parse(body.toString('utf8'));
    } catch (error) {
      if (error instanceof SyntaxError) throw wrong();
      if (error instanceof OutboundError) throw unreadable(whyOf[error.reason] ?? 'away');
      throw error;
    }
  }

  return {
    async at(uri) {
      const keys = await current(uri);
      return async (header, token) => {
        try {
          return await keys(header, token);
        } catch (error) {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
          return (await fetched(uri, rereadAtUnknownKey))(header, token);
        }
      };
    },

    async ofJustNow(uri) {
      const { begun } = keptOf(uri);
      return {
        keys: await current(uri),
        newer: () => {
          const known = keptOf(uri);
          return known.begun > begun && known.reading ? known.reading.keys : begin(uri, known);
        },
      };
    },
  };
}

/** What the guard refuses will be refused again. */
const whyOf: Partial<Record<OutboundReason, 'wrong'>> = {
  address: 'wrong',
  host: 'wrong',
  scheme: 'wrong',
  size: 'wrong',
};

/** @throws what `unreadable` makes, for what is no key set */
export function keySetOf(jwks: unknown, unreadable: () => Error): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(jwks as JSONWebKeySet);
  } catch {
    throw unreadable();
  }
}
