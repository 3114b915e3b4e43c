import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type CryptoKey, errors, importJWK, type JWK, type JWTPayload, jwtVerify } from 'jose';
import type { SigningKey } from '../../../entities/signing-key.js';
import { type Clock, minutes, seconds } from '../../platform/clock.js';
import { inNoShare } from '../../platform/context.js';
import { signJwt } from '../../platform/crypto/jws.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createStoredKeys, maxTokenLife, signingKeyContext } from './stored-keys.js';

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
  /** Re-encrypts the private keys that an older master key sealed; returns how many. */
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

const rereadEvery = minutes(1);
const rereadAtUnknownKid = seconds(3);

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
  const stored = createStoredKeys({
    db,
    sealing,
    keyBits,
    onRotated: () => {
      if (known) known.readAt = 0;
    },
    now,
  });

  async function read(): Promise<Known> {
    const at = now();
    let rows = await stored.published(at);
    if (!rows.some((row) => signsAt(row, at))) {
      await stored.rotate(); // the very first key, or a rotation that nobody ran in time
      rows = await stored.published(now());
    }
    const publicKeys = new Map<string, CryptoKey>();
    for (const { kid, publicJwk } of rows) publicKeys.set(kid, (await importJWK(publicJwk, 'RS256')) as CryptoKey);
    const unchanged = known && sameKids(known.rows, rows);
    const jwks = unchanged && known ? known.jwks : { keys: rows.map(({ publicJwk }) => publicJwk) };
    known = { readAt: at.getTime(), rows, jwks, publicKeys };
    return known;
  }

  /**
   * The known keys, read again if they were read longer ago than `maxAge`; by one reader at a time, for whom requests of
   * all Accounts wait.
   */
  async function readWithin(maxAge: number): Promise<Known> {
    if (known && Math.abs(now().getTime() - known.readAt) < maxAge) return known;
    reading ??= inNoShare(read).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function signingKey(): Promise<{ kid: string; key: KeyObject }> {
    // The time of each read counts: the first key may be made in between, and signs from then.
    const find = ({ rows }: Known) => rows.findLast((row) => signsAt(row, now()));
    const row = find(await readWithin(rereadEvery)) ?? find(await readWithin(0)) ?? nextOf(known);
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
    const key = find(await readWithin(rereadEvery)) ?? find(await readWithin(rereadAtUnknownKid));
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key;
  }

  return {
    issuer,
    async sign(claims, { typ }) {
      const { exp } = claims;
      if (exp === undefined || exp * 1000 > now().getTime() + maxTokenLife) {
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
      return (await readWithin(rereadEvery)).jwks;
    },
    rotate: stored.rotate,
    reseal: stored.reseal,
  };
}

const signsAt = (row: SigningKey, at: Date) => row.signsFrom <= at && at < row.signsUntil;
const sameKids = (a: readonly SigningKey[], b: readonly SigningKey[]) =>
  a.length === b.length && a.every(({ kid }, i) => kid === b[i]?.kid);
