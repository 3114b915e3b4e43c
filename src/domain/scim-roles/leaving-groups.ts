import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Directory } from './directories.js';

/**
 * Updates version and time of each group that a person is about to leave, since directories compare these. Groups are
 * locked in the order of their ids, so that two people who leave the same groups do not deadlock.
 */
export const changeGroupsOf = (
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  identityId: string,
  at: Date,
): Promise<unknown> =>
  tx.query(
    `with held as (
       select g.id from scim_groups g
       where g.account_id = $1 and g.id = any (array(
         select group_id from scim_group_members where account_id = $1 and environment_id = $2 and identity_id = $3))
       order by g.id for no key update)
     update scim_groups set version = version + 1, updated_at = $4 where id in (select id from held)`,
    [accountId, environmentId, identityId, at],
  );

/** Removes a person from a directory's groups. The caller settles their roles. */
export async function leaveGroups(
  tx: EntityManager,
  { scope, directoryId }: Directory,
  identityId: string,
  at: Date,
): Promise<void> {
  await changeGroupsOf(tx, scope, identityId, at);
  await tx.query(
    `delete from scim_group_members gm using scim_groups g
     where g.id = gm.group_id and g.directory_id = $3 and gm.account_id = $1 and gm.identity_id = $2`,
    [scope.accountId, identityId, directoryId],
  );
}
