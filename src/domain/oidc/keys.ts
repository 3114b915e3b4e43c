import { createPrivateKey, type KeyObject } from 'node:crypto';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  errors,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { MoreThan } from 'typeorm';
import { SigningKey } from '../../../entities/signing-key.js';
import { after, type Clock, days, hours, minutes, seconds } from '../../platform/clock.js';
import { signJwt } from '../../platform/crypto/jws.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';

/**
 * The kind of a token, by its `typ` header: an access token (RFC 9068 §2.1) or a logout token (OpenID Connect
 * Back-Channel Logout 1.0 §2.4) never passes for an ID token.
 */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt';

export interface SigningKeys {
  readonly issuer: string;
  /** Signs claims as a JWT (RS256). `iss` is ours unless given; `exp` is required and at most a day away. */
  sign(claims: JWTPayload, options: { typ: TokenType }): Promise<string>;
  /**
   * Checks signature, issuer, type, audience and expiry.
   * @throws errors.JOSEError when any of them is not right.
   */
  verify(token: string, options: VerifyOptions): Promise<JWTPayload>;
  /** The public keys (RFC 7517). The same object until they change, so that its serialization can be kept. */
  jwks(): Promise<{ keys: JWK[] }>;
  /** Makes the next key when it is time, and deletes keys that nothing needs. Safe to repeat. */
  rotate(): Promise<{ created: string | null }>;
  /** Encrypts anew the private keys that an older master key sealed; returns how many. */
  reseal(): Promise<number>;
}

export interface VerifyOptions {
  typ: TokenType;
  /** Only left out if the token names its own client, as an `id_token_hint` does. */
  audience?: string;
  /** An `id_token_hint` may have expired (OpenID Connect Core 3.1.2.1). */
  acceptExpired?: boolean;
}

export interface SigningKeysDeps {
  db: Db;
  sealing: Sealing;
  /** Our issuer: tokens with another one are refused even when one of our keys signed them. */
  issuer: string;
  /** In bits, of the next key that is made; existing keys stay as they are. */
  keyBits?: number;
  now: Clock;
}

/** Whether the token was refused, as opposed to a fault while checking it. */
export const isInvalidToken = (error: unknown): boolean => error instanceof errors.JOSEError;
/** Whether the token names a key that is not ours, or no longer is. */
export const isOfUnknownKey = (error: unknown): boolean => error instanceof errors.JWKSNoMatchingKey;

const signingLife = days(90);
/** A successor is published this long before it signs: relying parties cache a key set for a day at most. */
const publishedAhead = days(7);
const leastPublishedAhead = hours(24);
/**
 * No token lives longer, so a key is published for this long after it last signed (and an hour, since clocks differ).
 */
const longestTokenLife = hours(24);
const publishedAfter = longestTokenLife + hours(1);
const rereadEvery = minutes(1);
const rereadAtUnknownKid = seconds(3);
const advisoryLock = 7_263_004_119;

interface Known {
  readAt: number;
  rows: readonly SigningKey[];
  jwks: { keys: JWK[] };
  publicKeys: Map<string, CryptoKey>;
}

/** The service's RS256 keys (contract §2, "Signing keys"), the same ones in every process. */
export function createSigningKeys({ db, sealing, issuer, keyBits = 2048, now }: SigningKeysDeps): SigningKeys {
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  const privateKeys = new Map<string, KeyObject>();

  async function read(): Promise<Known> {
    const at = now();
    let rows = await published(at);
    if (!rows.some((row) => signsAt(row, at))) {
      await rotate(); // the very first key, or a rotation that nobody ran in time
      rows = await published(now());
    }
    const publicKeys = new Map<string, CryptoKey>();
    for (const { kid, publicJwk } of rows) publicKeys.set(kid, (await importJWK(publicJwk, 'RS256')) as CryptoKey);
    const unchanged = known && sameKids(known.rows, rows);
    const jwks = unchanged && known ? known.jwks : { keys: rows.map(({ publicJwk }) => publicJwk) };
    known = { readAt: at.getTime(), rows, jwks, publicKeys };
    return known;
  }

  const published = (at: Date) =>
    db.transaction('system', (tx) =>
      tx.find(SigningKey, { where: { publishedUntil: MoreThan(at) }, order: { signsFrom: 'ASC' } }),
    );

  /** The known keys, read again when they are older than `maxAge`; by one reader at a time. */
  async function atMost(maxAge: number): Promise<Known> {
    if (known && Math.abs(now().getTime() - known.readAt) < maxAge) return known;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function signingKey(): Promise<{ kid: string; key: KeyObject }> {
    // The time of each read counts: the first key may be made in between, and signs from then.
    const find = ({ rows }: Known) => rows.findLast((row) => signsAt(row, now()));
    const row = find(await atMost(rereadEvery)) ?? find(await atMost(0)) ?? nextOf(known);
    if (!row) throw new Error('no signing key is in force');
    let key = privateKeys.get(row.kid);
    if (!key) {
      key = createPrivateKey(sealing.open(row.privateKeySealed, signingKeyContext(row.kid)));
      privateKeys.set(row.kid, key);
    }
    return { kid: row.kid, key };
  }

  /**
   * A key that was made by a clock ahead of ours begins in our future, and is the one with which everybody else signs.
   */
  const nextOf = (read: Known | undefined) => read?.rows.find(({ signsUntil }) => signsUntil > now());

  async function verificationKey(kid: string | undefined): Promise<CryptoKey> {
    if (kid === undefined) throw new errors.JWKSNoMatchingKey();
    const find = ({ rows, publicKeys }: Known) =>
      rows.some((row) => row.kid === kid && row.publishedUntil > now()) ? publicKeys.get(kid) : undefined;
    const key = find(await atMost(rereadEvery)) ?? find(await atMost(rereadAtUnknownKid));
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key;
  }

  async function rotate(): Promise<{ created: string | null }> {
    if (!isDue(await newest(), now())) {
      await forgetOld();
      return { created: null };
    }
    // Made before the lock is taken, since it takes a while; if another process is faster, it is thrown away.
    const made = await generateKeyPair('RS256', { modulusLength: keyBits, extractable: true });
    const publicJwk = await exportJWK(made.publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    const privateKeySealed = sealing.seal(await exportPKCS8(made.privateKey), signingKeyContext(kid));
    const created = await db.transaction('system', async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
      const at = now();
      const [last] = await tx.find(SigningKey, { order: { signsFrom: 'DESC' }, take: 1 });
      if (!isDue(last, at)) return null;
      const signsFrom = last ? later(last.signsUntil, after(at, leastPublishedAhead)) : at;
      if (last && last.signsUntil < signsFrom) {
        // The rotation is late: the old key keeps signing until its successor has been published long enough.
        const publishedUntil = after(signsFrom, publishedAfter);
        await tx.update(SigningKey, { kid: last.kid }, { signsUntil: signsFrom, publishedUntil });
      }
      const signsUntil = after(signsFrom, signingLife);
      await tx.insert(SigningKey, {
        kid,
        publicJwk: { ...publicJwk, kid, use: 'sig', alg: 'RS256' },
        privateKeySealed,
        createdAt: at,
        signsFrom,
        signsUntil,
        publishedUntil: after(signsUntil, publishedAfter),
      });
      await recordEvent(tx, 'signing_key.created', { resourceId: kid, metadata: { signs_from: signsFrom } });
      return kid;
    });
    if (known) known.readAt = 0;
    await forgetOld();
    return { created };
  }

  async function reseal(): Promise<number> {
    return db.transaction('system', async (tx) => {
      const rows = await tx.find(SigningKey, { lock: { mode: 'pessimistic_write' } });
      const stale = rows.filter(({ privateKeySealed }) => sealing.isStale(privateKeySealed));
      for (const { kid, privateKeySealed } of stale) {
        const context = signingKeyContext(kid);
        await tx.update(
          SigningKey,
          { kid },
          { privateKeySealed: sealing.seal(sealing.open(privateKeySealed, context), context) },
        );
      }
      return stale.length;
    });
  }

  const newest = () =>
    db.transaction('system', async (tx) => (await tx.find(SigningKey, { order: { signsFrom: 'DESC' }, take: 1 }))[0]);

  async function forgetOld() {
    const at = now();
    await db.transaction('system', (tx) =>
      // Never the newest: if the service was off for a year, it continues with the key that relying parties know. The
      // earlier of two clocks decides: by one that is ahead, the key that signs now would be deleted.
      tx.query(
        `delete from signing_keys where published_until <= least($1::timestamptz, clock_timestamp()) and signs_from < (select max(signs_from) from signing_keys)`,
        [at],
      ),
    );
  }

  return {
    issuer,
    async sign(claims, { typ }) {
      const { exp } = claims;
      if (exp === undefined || exp * 1000 > now().getTime() + longestTokenLife) {
        throw new RangeError('a token expires within a day, or its key could be gone before it');
      }
      return signJwt({ iss: issuer, ...claims }, { ...(await signingKey()), typ });
    },
    async verify(token, { typ, audience, acceptExpired = false }) {
      const { payload } = await jwtVerify(token, ({ kid }) => verificationKey(kid), {
        algorithms: ['RS256'],
        issuer,
        typ,
        audience,
        requiredClaims: ['exp', 'iat'],
        currentDate: acceptExpired ? new Date(0) : now(),
      });
      return payload;
    },
    async jwks() {
      return (await atMost(rereadEvery)).jwks;
    },
    rotate,
    reseal,
  };
}

/** The context with which a private key is sealed. */
export const signingKeyContext = (kid: string): string => `signing-key/${kid}`;
const signsAt = (row: SigningKey, at: Date) => row.signsFrom <= at && at < row.signsUntil;
const isDue = (last: SigningKey | null | undefined, at: Date) => !last || after(last.signsUntil, -publishedAhead) <= at;
const later = (a: Date, b: Date) => (a > b ? a : b);
const sameKids = (a: readonly SigningKey[], b: readonly SigningKey[]) =>
  a.length === b.length && a.every(({ kid }, i) => kid === b[i]?.kid);
