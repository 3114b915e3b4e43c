import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { type Clock, days, minutes, seconds } from '../clock.js';
import { OutboundError, type OutboundReason } from './errors.js';
import type { Outbound } from './fetch.js';

export interface KeySets {
  /** Returns the public keys at a URL (RFC 7517 §5), as jose's key resolver. */
  at(uri: string): Promise<JWTVerifyGetKey>;
  /**
   * Returns the keys at a URL for a message that their owner itself has just sent. Nobody else can cause a fetch this
   * way, so even a brand-new key is found: `newer` returns the keys of a fetch that began after this call. It waits for
   * one that began earlier, so that all who call it meanwhile share the next one.
   */
  ofJustNow(uri: string): Promise<{ keys: JWTVerifyGetKey; newer(): Promise<JWTVerifyGetKey> }>;
}

const cachedFor = minutes(5);
/** An unknown key causes a fetch at once, unless the keys are younger than this, so nobody can make us fetch always. */
const rereadAtUnknownKey = seconds(10);
/** Requests during a fetch, or this long after it, share its result or failure, so many requests cause few fetches. */
const sharedFor = seconds(3);
/** After this time a failed fetch is retried; requests that known keys can serve do not wait for it. */
const rereadAfterFailure = seconds(30);
/** How long fetched keys stay valid if they cannot be fetched again: their owner's site may be down for a while. */
const countOnFor = days(1);
const cacheSize = 1000;

interface CachedKeySet {
  /** The last keys that were fetched: a later failure does not remove them. */
  read: { at: number; keys: JWTVerifyGetKey } | null;
  /** The last fetch; `endedAt` is null while it runs. */
  reading: { endedAt: number | null; keys: Promise<JWTVerifyGetKey> } | null;
  /** How many fetches have begun. */
  begun: number;
  /** Whether the last fetch that ended has failed. */
  isFailing: boolean;
}

export interface KeySetsDeps {
  outbound: Pick<Outbound, 'get'>;
  /** Makes the error to throw if keys cannot be read. `away`: the server did not answer, but may do so soon. */
  unreadable: (why: 'away' | 'wrong') => Error;
  now: Clock;
}

/** Fetches and caches the key sets of other parties, through the guard for URLs that tenants give. */
export function createKeySets({ outbound, unreadable, now }: KeySetsDeps): KeySets {
  const cache = new Map<string, CachedKeySet>();
  const wrong = () => unreadable('wrong');

  async function fetched(uri: string, maxAge: number): Promise<JWTVerifyGetKey> {
    const known = cachedAt(uri);
    if (known.read && ageOf(known.read.at) < maxAge) return known.read.keys;
    if (known.reading && timeSince(known.reading) < sharedFor) return known.reading.keys;
    return begin(uri, known);
  }

  async function begin(uri: string, known: CachedKeySet): Promise<JWTVerifyGetKey> {
    const at = now().getTime();
    known.begun++;
    const reading: NonNullable<CachedKeySet['reading']> = {
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

  /** Absolute, since after the clock was set back, a moment in the future would otherwise seem fresh for that long. */
  const ageOf = (at: number) => Math.abs(now().getTime() - at);
  const timeSince = ({ endedAt }: { endedAt: number | null }) => (endedAt === null ? 0 : ageOf(endedAt));

  /** Returns fresh keys, or the last ones if none can be fetched. */
  async function current(uri: string): Promise<JWTVerifyGetKey> {
    const { read: last, reading, isFailing } = cachedAt(uri);
    const isUsable = last !== null && ageOf(last.at) < countOnFor;
    if (isUsable && isFailing && reading) {
      if (timeSince(reading) >= rereadAfterFailure) fetched(uri, cachedFor).catch(() => {}); // this may fail again
      return last.keys;
    }
    try {
      return await fetched(uri, cachedFor);
    } catch (error) {
      if (isUsable) return last.keys;
      throw error;
    }
  }

  function cachedAt(uri: string): CachedKeySet {
    const known = cache.get(uri) ?? { read: null, reading: null, begun: 0, isFailing: false };
    if (cache.size >= cacheSize && !cache.has(uri)) cache.clear();
    cache.set(uri, known);
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
      const { begun } = cachedAt(uri);
      return {
        keys: await current(uri),
        newer: async () => {
          const known = cachedAt(uri);
          const { reading } = known;
          if (known.begun === begun && reading?.endedAt === null) await reading.keys.catch(() => {});
          return known.begun > begun && known.reading ? known.reading.keys : begin(uri, known);
        },
      };
    },
  };
}

/** Failures that another try would repeat. */
const whyOf: Partial<Record<OutboundReason, 'wrong'>> = {
  address: 'wrong',
  host: 'wrong',
  scheme: 'wrong',
  size: 'wrong',
};

/** Returns the key set. @throws the error of `unreadable` if `jwks` is not a key set */
export function keySetOf(jwks: unknown, unreadable: () => Error): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(jwks as JSONWebKeySet);
  } catch {
    throw unreadable();
  }
}
