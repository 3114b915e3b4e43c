import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import { secretContext } from './totp.js';

export interface ResealDeps {
  db: Db;
  sealing: Sealing;
}

const atOnce = 500;

/** Where secrets of authenticator apps are, and what each is bound to. */
export interface SealedSecrets {
  table: 'mfa_factors' | 'user_mfa_factors';
  contextOf(factorId: string): string;
}

/** Encrypts authenticator secrets of end users anew that an older master key sealed. Answers how many. */
export const resealFactors = (deps: ResealDeps): Promise<number> =>
  resealSecrets(deps, { table: 'mfa_factors', contextOf: secretContext });

/** A few hundred in each transaction. */
export async function resealSecrets({ db, sealing }: ResealDeps, { table, contextOf }: SealedSecrets): Promise<number> {
  let count = 0;
  for (let last: string | null = '00000000-0000-0000-0000-000000000000'; last !== null; ) {
    last = await db.transaction('system', async (tx): Promise<string | null> => {
      const rows = await tx.query<{ id: string; secret: string }[]>(
        `select id, secret from ${table} where type = 'totp' and id > $1 order by id limit ${atOnce} for update`,
        [last],
      );
      for (const { id, secret } of rows) {
        if (!sealing.isStale(secret)) continue;
        const context = contextOf(id);
        await tx.query(`update ${table} set secret = $2 where id = $1`, [
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
