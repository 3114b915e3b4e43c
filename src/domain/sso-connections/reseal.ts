import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import { clientSecretContext } from './secrets.js';

const atOnce = 500;

/** Encrypts client secrets anew that an older master key sealed, a few hundred in each transaction. Answers how many. */
export async function resealConnections({ db, sealing }: { db: Db; sealing: Sealing }): Promise<number> {
  let count = 0;
  for (let last: string | null = '00000000-0000-0000-0000-000000000000'; last !== null; ) {
    last = await db.transaction('system', async (tx): Promise<string | null> => {
      const rows = await tx.query<{ id: string; sealed: string }[]>(
        `select id, oidc_client_secret_sealed as sealed from sso_connections
         where oidc_client_secret_sealed is not null and id > $1 order by id limit ${atOnce} for update`,
        [last],
      );
      for (const { id, sealed } of rows) {
        if (!sealing.isStale(sealed)) continue;
        const context = clientSecretContext(id);
        const anew = sealing.seal(sealing.open(sealed, context), context);
        await tx.query('update sso_connections set oidc_client_secret_sealed = $2 where id = $1', [id, anew]);
        count += 1;
      }
      return rows.at(-1)?.id ?? null;
    });
  }
  return count;
}
