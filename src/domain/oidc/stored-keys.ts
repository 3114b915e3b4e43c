import { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair } from 'jose';
import { SigningKey } from '../../../entities/signing-key.js';
import { after, type Clock, days, hours } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';

const signingLife = days(90);
/** A successor is published this long before it signs: relying parties cache a key set for a day at most. */
const publishedAhead = days(7);
const minPublishedAhead = hours(24);
/**
 * No token lives longer, so a key is published for this long after it last signed (and an hour, since clocks differ).
 */
export const maxTokenLife = hours(24);
const publishedAfter = maxTokenLife + hours(1);
const advisoryLock = 7_263_004_119;

const publishedStatement = {
  name: 'published_signing_keys',
  text: `
select kid, public_jwk as "publicJwk", private_key_sealed as "privateKeySealed", created_at as "createdAt", signs_from as "signsFrom",
  signs_until as "signsUntil", published_until as "publishedUntil"
from signing_keys where published_until > $1::timestamptz order by signs_from`,
};

export interface StoredKeysDeps {
  db: Db;
  sealing: Sealing;
  /** In bits, of the next key that is made; existing keys stay as they are. */
  keyBits: number;
  /** Called when a key was due, whether it was made here or by another process meanwhile. */
  onRotated(): void;
  now: Clock;
}

/** The rows of the signing keys: which are published, when the next one is made, and when one is deleted. */
export function createStoredKeys({ db, sealing, keyBits, onRotated, now }: StoredKeysDeps) {
  const newest = () =>
    db.transaction('system', async (tx) => (await tx.find(SigningKey, { order: { signsFrom: 'DESC' }, take: 1 }))[0]);

  /** Makes a key and seals it, before any lock is taken, since that takes a while. */
  async function newKey() {
    const made = await generateKeyPair('RS256', { modulusLength: keyBits, extractable: true });
    const publicJwk = await exportJWK(made.publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    const privateKeySealed = sealing.seal(await exportPKCS8(made.privateKey), signingKeyContext(kid));
    return { kid, publicJwk: { ...publicJwk, kid, use: 'sig', alg: 'RS256' }, privateKeySealed };
  }

  /** Stores a key as the next one. Returns its id, or null if another process was faster. */
  const insertNext = (key: Awaited<ReturnType<typeof newKey>>): Promise<string | null> =>
    db.transaction('system', async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
      const at = now();
      const [last] = await tx.find(SigningKey, { order: { signsFrom: 'DESC' }, take: 1 });
      if (!isDue(last, at)) return null;
      const signsFrom = last ? later(last.signsUntil, after(at, minPublishedAhead)) : at;
      if (last && last.signsUntil < signsFrom) {
        // The rotation is late: the old key keeps signing until its successor has been published long enough.
        const publishedUntil = after(signsFrom, publishedAfter);
        await tx.update(SigningKey, { kid: last.kid }, { signsUntil: signsFrom, publishedUntil });
      }
      const signsUntil = after(signsFrom, signingLife);
      const publishedUntil = after(signsUntil, publishedAfter);
      await tx.insert(SigningKey, { ...key, createdAt: at, signsFrom, signsUntil, publishedUntil });
      const { kid } = key;
      await recordEvent(tx, 'signing_key.created', { resourceId: kid, metadata: { signs_from: signsFrom } });
      return kid;
    });

  /**
   * Deletes keys that nothing needs. Never the newest: if the service was off for a year, it continues with the key
   * that relying parties know. The earlier of two clocks decides: by one that is ahead, the key that signs now would be
   * deleted.
   */
  const deleteOld = () =>
    db.transaction('system', (tx) =>
      tx.query(
        `delete from signing_keys where published_until <= least($1::timestamptz, clock_timestamp())
           and signs_from < (select max(signs_from) from signing_keys)`,
        [now()],
      ),
    );

  return {
    /** The keys that are published at a moment, in the order in which they sign. */
    published: (at: Date): Promise<SigningKey[]> => db.statement<SigningKey>(publishedStatement, [at]),

    /** As `SigningKeys.rotate`. */
    async rotate(): Promise<{ created: string | null }> {
      let created: string | null = null;
      if (isDue(await newest(), now())) {
        created = await insertNext(await newKey());
        onRotated();
      }
      await deleteOld();
      return { created };
    },

    /** As `SigningKeys.reseal`. */
    reseal: (): Promise<number> =>
      db.transaction('system', async (tx) => {
        const rows = await tx.find(SigningKey, { lock: { mode: 'pessimistic_write' } });
        const stale = rows.filter(({ privateKeySealed }) => sealing.isStale(privateKeySealed));
        for (const { kid, privateKeySealed } of stale) {
          const context = signingKeyContext(kid);
          const sealed = sealing.seal(sealing.open(privateKeySealed, context), context);
          await tx.update(SigningKey, { kid }, { privateKeySealed: sealed });
        }
        return stale.length;
      }),
  };
}

/** The context with which a private key is sealed. */
export const signingKeyContext = (kid: string): string => `signing-key/${kid}`;
const isDue = (last: SigningKey | null | undefined, at: Date) => !last || after(last.signsUntil, -publishedAhead) <= at;
const later = (a: Date, b: Date) => (a > b ? a : b);
