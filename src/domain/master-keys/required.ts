import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import { signingKeyContext } from '../oidc/keys.js';

const statement = {
  name: 'signing_keys_by_master_key',
  text: `select distinct on (1) split_part(private_key_sealed, '.', 1) as "keyId", kid, private_key_sealed as sealed
    from signing_keys where signs_until > $1 order by 1, signs_from desc`,
};

/**
 * Why the configured master keys are not those of this database, in a sentence; null where they are. The signing keys tell: there
 * is one from the first start on, and without them nobody can be signed in.
 */
export async function wrongMasterKeys({
  db,
  sealing,
  now,
}: {
  db: Pick<Db, 'statement'>;
  sealing: Pick<Sealing, 'open' | 'has'>;
  now: Clock;
}): Promise<string | null> {
  const rows = await db.statement<{ keyId: string; kid: string; sealed: string }>(statement, [now()]);
  for (const { keyId, kid, sealed } of rows) {
    if (!sealing.has(keyId))
      return `MASTER_KEYS has no key ${keyId}, with which signing keys in the database are sealed`;
    try {
      sealing.open(sealed, signingKeyContext(kid));
    } catch {
      return `MASTER_KEYS has another key ${keyId} than the one with which signing keys in the database are sealed`;
    }
  }
  return null;
}
