import type { EntityManager } from 'typeorm';

/**
 * Deletes the ended invites of people who are erased, so that no invite names them any more. Pending ones stay: they
 * were requested since, by somebody who wants the person back.
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
