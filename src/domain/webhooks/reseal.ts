import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { nilUuid } from '../../platform/uuid.js';
import { secretContext } from './secrets.js';

const atOnce = 500;

interface Sealed {
  id: string;
  secret: string;
  previous_secret: string | null;
}

/** Encrypts signing secrets anew that an older master key sealed, a few hundred in each transaction. Answers how many. */
export async function resealWebhooks({ db, sealing }: { db: Db; sealing: Sealing }): Promise<number> {
  let count = 0;
  for (let last: string | null = nilUuid; last !== null; ) {
    last = await db.transaction('system', async (tx): Promise<string | null> => {
      const rows = await tx.query<Sealed[]>(
        `select id, secret, previous_secret from webhooks where id > $1 order by id limit ${atOnce} for update`,
        [last],
      );
      for (const { id, ...sealed } of rows) {
        const texts = [sealed.secret, sealed.previous_secret];
        const stale = texts.filter((text) => text !== null && sealing.isStale(text)).length;
        if (stale === 0) continue;
        const context = secretContext(id);
        const anew = texts.map((text) => text && sealing.seal(sealing.open(text, context), context));
        await tx.query('update webhooks set secret = $2, previous_secret = $3 where id = $1', [id, ...anew]);
        count += stale;
      }
      return rows.at(-1)?.id ?? null;
    });
  }
  return count;
}
