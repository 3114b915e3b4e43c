import pg from 'pg';
import type { Stops } from '../src/dev/stops.js';
import { digitsOf } from '../src/domain/logins/emailed-codes.js';
import { parseMasterKeys } from '../src/platform/crypto/master-keys.js';
import { createSealing } from '../src/platform/crypto/sealing.js';
import type { Installation } from './installation.js';

const lookUp = {
  name: 'bench_mailed_code',
  text: `select id, key_id as "keyId" from emailed_codes
    where identity_id = $1 and purpose = 'login' order by created_at desc, id desc limit 1`,
};

/** Returns a function that derives an Identity's mailed code from its id, like the mail: codes are not stored. */
export function createMailedCodes({ ownerUrl, masterKeys }: Installation, stops: Stops) {
  const sealing = createSealing(parseMasterKeys(masterKeys));
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 4 });
  pool.on('error', () => {}); // PostgreSQL may be stopped first
  stops.add({ name: 'mailed codes', exited: new Promise(() => {}), stop: () => pool.end() });
  return async (identityId: string): Promise<string> => {
    const { rows } = await pool.query<{ id: string; keyId: string }>({ ...lookUp, values: [identityId] });
    if (!rows[0]) throw new Error('no code was mailed');
    return digitsOf(sealing, rows[0]).digits;
  };
}
