import { type EntityManager, LessThan } from 'typeorm';
import { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import { after, type Clock, days } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { nilUuid } from '../../platform/uuid.js';
import { leaveIdentity } from '../access/windows/rows.js';
import { createEnvironmentRemovals } from '../environment-removals/removals.js';
import { forgetInvited } from '../erasures/forget-invited.js';
import { recordEvent } from '../events/record.js';
import type { SweptStep } from '../sweeping.js';

/** How long a removal that support halted stays halted in a closed Account: nobody could resume it there any more. */
const haltMs = days(1);

/**
 * Deletes a batch of what is left of a closed Account, in a transaction of its own, and finally the Account. While
 * Environments of it are still being removed, their removals delete what is in them, and the next run looks at the
 * Account again. Resumes removals that were halted.
 * @param place the last Account that is finished; null to begin
 * @returns where to continue: the same place if the next Account has more to delete; null if there is no further one
 */
export const sweepClosedAccount = (
  { db, now }: { db: Db; now: Clock },
  place: string | null,
  batchSize: number,
): Promise<SweptStep> =>
  db.transaction('system', async (tx) => {
    const [found] = await tx.query<{ id: string; name: string }[]>(
      'select id, name from accounts where closed_at is not null and id > $1 order by id limit 1 for update skip locked',
      [place ?? nilUuid],
    );
    if (!found) return { swept: 0, next: null };
    const { id: accountId } = found;
    for (const deletePart of [deleteDeliveries, deletePeople]) {
      const deleted = await deletePart(tx, accountId, batchSize);
      if (deleted > 0) return { swept: deleted, next: place ?? nilUuid };
    }
    await resumeHalted(tx, accountId, now);
    if (await isUnderRemoval(tx, accountId)) return { swept: 0, next: accountId };
    await tx.query('delete from accounts where id = $1', [accountId]);
    await recordEvent(tx, 'account.erased', { accountId, resourceId: accountId, resourceLabel: found.name });
    return { swept: 1, next: accountId };
  });

/** Deletes deliveries to webhook subscriptions of the Account itself. */
async function deleteDeliveries(tx: EntityManager, accountId: string, batchSize: number): Promise<number> {
  const [, deleted] = await tx.query<[unknown[], number]>(
    `delete from webhook_deliveries where ctid = any (array(
       select d.ctid from webhook_deliveries d
       where d.webhook_id = any (array(select id from webhooks where account_id = $1 and environment_id is null)) limit $2))`,
    [accountId, batchSize],
  );
  return deleted;
}

/** Deletes Identities of the directory that are in no Environment. */
async function deletePeople(tx: EntityManager, accountId: string, batchSize: number): Promise<number> {
  const found = await tx.query<{ id: string }[]>(
    `select id from identities i where account_id = $1
       and not exists (select from environment_memberships where identity_id = i.id)
     order by id limit $2 for update`,
    [accountId, Math.ceil(batchSize / 5)],
  );
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return 0;
  for (const id of ids) await leaveIdentity(tx, id);
  await forgetInvited(tx, accountId, ids);
  await tx.query('delete from identities where id = any($1)', [ids]);
  return ids.length;
}

async function resumeHalted(tx: EntityManager, accountId: string, now: Clock): Promise<void> {
  const endedAt = LessThan(after(now(), -haltMs));
  const halted = await tx.findBy(EnvironmentRemoval, { accountId, status: 'cancelled', endedAt });
  const removals = createEnvironmentRemovals({ db: dbWithin(tx), now });
  for (const { id } of halted) await removals.resume({ accountId }, id);
}

/** Whether removals of Environments, halted ones included, or Identities are left. */
async function isUnderRemoval(tx: EntityManager, accountId: string): Promise<boolean> {
  const [left] = await tx.query<unknown[]>(
    `select from environment_removals where account_id = $1 and status <> 'completed'
     union all select from identities where account_id = $1 limit 1`,
    [accountId],
  );
  return left !== undefined;
}
