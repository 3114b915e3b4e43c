import { timingSafeEqual } from 'node:crypto';
import type { UsedMasterKey } from '../../../entities/used-master-key.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { signingKeyContext } from '../oidc/stored-keys.js';

const signingKeys = {
  name: 'signing_keys_by_master_key',
  text: `select distinct on (1) split_part(private_key_sealed, '.', 1) as "keyId", kid, private_key_sealed as sealed
    from signing_keys where signs_until > $1 order by 1, signs_from desc`,
};

type Used = Pick<UsedMasterKey, 'id' | 'checkValue' | 'usedSince'>;

const usedKeys = {
  name: 'used_master_keys',
  text: `select id, check_value as "checkValue", used_since as "usedSince" from used_master_keys`,
};

interface Deps {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'open' | 'has' | 'checkValue' | 'currentId'>;
  now: Clock;
}

/**
 * Returns why the configured master keys are not those of this database, in a sentence; null if they are. The signing
 * keys decide: one exists from the first start on, and without them nobody can be signed in. A key that seals none of
 * them is compared with the check value from its first use.
 */
export async function wrongMasterKeys({ db, sealing, now }: Deps): Promise<string | null> {
  const rows = await db.statement<{ keyId: string; kid: string; sealed: string }>(signingKeys, [now()]);
  for (const { keyId, kid, sealed } of rows) {
    if (!sealing.has(keyId))
      return `MASTER_KEYS has no key ${keyId}, with which signing keys in the database are sealed`;
    try {
      sealing.open(sealed, signingKeyContext(kid));
    } catch {
      return `MASTER_KEYS has another key ${keyId} than the one with which signing keys in the database are sealed`;
    }
  }
  for (const { id, checkValue, usedSince } of await db.statement<Used>(usedKeys, [])) {
    const configured = sealing.checkValue(id);
    if (configured && !timingSafeEqual(configured, checkValue))
      return `MASTER_KEYS has another key ${id} than the one that has encrypted here since ${usedSince.toISOString()}`;
  }
  return null;
}

/**
 * Records that the first of the configured master keys encrypts from now on. Processes that start at the same time
 * record the same one, or one of them is refused.
 */
export async function noteMasterKey({ db, sealing, now }: Deps): Promise<void> {
  const note = {
    name: 'note_master_key',
    text: `insert into used_master_keys (id, check_value, used_since) values ($1, $2, $3) on conflict (id) do nothing`,
  };
  await db.statement(note, [sealing.currentId, sealing.checkValue(sealing.currentId), now()]);
}

/** Returns whether a process of the service has encrypted with the first of the configured master keys. */
export async function isMasterKeyUsed({ db, sealing }: Pick<Deps, 'db' | 'sealing'>): Promise<boolean> {
  const used = await db.statement<Used>(usedKeys, []);
  return used.some(({ id }) => id === sealing.currentId);
}
