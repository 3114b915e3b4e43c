import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import { secretContext } from './totp.js';

export interface ResealDeps {
  db: Db;
  sealing: Sealing;
}

const atOnce = 500;

/** Encrypts authenticator secrets anew that an older master key sealed, a few hundred in each transaction. Answers how many. */
export async function resealFactors({ db, sealing }: ResealDeps): Promise<number> {
  let count = 0;
  for (let last: string | null = '00000000-0000-0000-0000-000000000000'; last !== null; ) {
    last = await db.transaction('system', async (tx): Promise<string | null> => {
      const rows = await tx.query<{ id: string; secret: string }[]>(
        `select id, secret from mfa_factors where type = 'totp' and id > $1 order by id limit ${atOnce} for update`,
        [last],
      );
      for (const { id, secret } of rows) {
        if (!sealing.isStale(secret)) continue;
        const context = secretContext(id);
        await tx.query('update mfa_factors set secret = $2 where id = $1', [
          id,
          sealing.seal(sealing.open(secret, context), context),
        ]);
        count += 1;
      }
      return rows.at(-1)?.id ?? null;
    });
  }
  return count;
}
