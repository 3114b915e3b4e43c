import type { EntityManager } from 'typeorm';

/**
 * Deletes what is over of the invites of people who are erased: with whom it was for it names nobody any more. Those that wait were asked for
 * since, by whoever wants them here again.
 */
export async function forgetInvited(
  tx: EntityManager,
  accountId: string,
  identityIds: readonly string[],
): Promise<void> {
  await tx.query(
    `delete from identity_invites where account_id = $1 and status <> 'pending'
       and id = any (array(select gatehouse_ended_invites($1, $2)))`,
    [accountId, identityIds],
  );
}
