import { createPrivateKey } from 'node:crypto';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoSigningKey } from '../../../entities/sso-signing-key.js';
import { after, type Clock, days } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { newSelfSigned } from '../../platform/crypto/self-signed.js';
import type { Db } from '../../platform/database/db.js';
import { SsoRefused } from './assertion.js';
import type { ServiceProviderKey } from './saml/requests.js';

/** Providers keep the certificate as long as the connection exists, and nobody renews it for them. */
const certificateLife = days(10 * 365);
/** How many keys a process caches: a key never changes, so they need no expiry. */
const cacheSize = 1_000;

/** The context that a key is sealed with, so that it opens only for its connection. */
export const connectionKeyContext = (connectionId: string): string => `sso-signing-key:${connectionId}`;

// Inserts nothing for a connection that is being deleted.
const insertStatement = {
  name: 'insert_sso_signing_key',
  text: `
insert into sso_signing_keys (connection_id, account_id, certificate, private_key_sealed, created_at)
select its.id, $2, $3, $4, $5
from (select id from sso_connections where id = $1 and (account_id = $2) is true for key share) its
on conflict do nothing`,
};

export interface SsoSigningKeysDeps {
  db: Db;
  sealing: Sealing;
  now: Clock;
}

/** The keys that sign our SAML messages and decrypt responses. A connection's key is created on first use, and stored. */
export function createSsoSigningKeys({ db, sealing, now }: SsoSigningKeysDeps) {
  const cache = new Map<string, ServiceProviderKey>();
  const beingMade = new Map<string, Promise<SsoSigningKey | null>>();

  const find = ({ id, accountId }: SsoConnection) =>
    db.transaction({ accountId }, (tx) => tx.findOneBy(SsoSigningKey, { connectionId: id, accountId }));

  /** If several processes create a key at once, one of the keys is stored and used by all. */
  async function make(connection: SsoConnection): Promise<SsoSigningKey | null> {
    const { id: connectionId, accountId } = connection;
    const from = now();
    const until = after(from, certificateLife);
    const made = await newSelfSigned(connectionId, { from, until, bits: 3072 }); // 128 bits of security for ten years
    const sealed = sealing.seal(made.privateKey, connectionKeyContext(connectionId));
    await db.statementIn({ accountId }, insertStatement, [connectionId, accountId, made.certificate, sealed, from]);
    return find(connection);
  }

  /** Creates one key at a time per connection: it takes a hashing thread for a second, and metadata is public. */
  function makeOnce(connection: SsoConnection): Promise<SsoSigningKey | null> {
    const { id } = connection;
    const made = beingMade.get(id) ?? make(connection).finally(() => beingMade.delete(id));
    beingMade.set(id, made);
    return made;
  }

  return {
    /** @throws SsoRefused connection_disabled if the connection was deleted meanwhile */
    async keyOf(connection: SsoConnection): Promise<ServiceProviderKey> {
      const known = cache.get(connection.id);
      if (known) return known;
      const row = (await find(connection)) ?? (await makeOnce(connection));
      if (!row) throw new SsoRefused('connection_disabled', 'The connection no longer exists');
      const key = {
        certificate: row.certificate,
        privateKey: createPrivateKey(sealing.open(row.privateKeySealed, connectionKeyContext(connection.id))),
      };
      if (cache.size >= cacheSize) cache.clear();
      cache.set(connection.id, key);
      return key;
    },

    /** Re-encrypts the keys that an older master key sealed; returns how many. */
    reseal: (): Promise<number> =>
      db.transaction('system', async (tx) => {
        const rows = await tx.find(SsoSigningKey, { lock: { mode: 'pessimistic_write' } });
        const stale = rows.filter(({ privateKeySealed }) => sealing.isStale(privateKeySealed));
        for (const { connectionId, privateKeySealed } of stale) {
          const context = connectionKeyContext(connectionId);
          const sealed = sealing.seal(sealing.open(privateKeySealed, context), context);
          await tx.update(SsoSigningKey, { connectionId }, { privateKeySealed: sealed });
        }
        return stale.length;
      }),
  };
}
