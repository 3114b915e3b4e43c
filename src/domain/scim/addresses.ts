import type { EntityManager } from 'typeorm';
import { type Directory, vouchesFor } from './directory.js';
import { isElsewhere } from './presence.js';
import { ScimRefused } from './refusal.js';
import type { UserRow } from './user-rows.js';

/**
 * Another address is another way to sign in as somebody: whoever may change it could become them. So it is for who owns the
 * domain of the one that it was, or of somebody whom nobody has ever been and who is nothing elsewhere.
 * @throws ScimRefused forbidden
 */
export async function assertMayMove(tx: EntityManager, directory: Directory, row: UserRow): Promise<void> {
  if (await vouchesFor(tx, directory, row.email)) return;
  const isUnproved = row.emailVerifiedAt === null && !row.hasPassword && row.madeMembership;
  const isNobody = isUnproved && !(await isElsewhere(tx, directory, row.id)) && !(await isUsed(tx, directory, row.id));
  if (!isNobody)
    throw new ScimRefused(
      'forbidden',
      `The address is in use, and its domain is not verified by ${ownerOf(directory)}`,
    );
}

export const ownerOf = ({ organizationId }: Directory): string =>
  organizationId === null ? 'the account' : 'the organization';

/** Whether somebody has signed in as the person, or the person has something that this directory has not given. */
async function isUsed(tx: EntityManager, { scope, directoryId }: Directory, identityId: string): Promise<boolean> {
  const [row] = await tx.query<{ is: boolean }[]>(
    `select exists (select from sessions where account_id = $1 and identity_id = $3)
       or exists (select from sso_links where account_id = $1 and identity_id = $3)
       or exists (select from environment_memberships where account_id = $1 and identity_id = $3 and environment_id <> $2)
       or exists (select from role_assignments a where a.account_id = $1 and a.identity_id = $3 and a.removed_at is null
         and not exists (select from scim_assignments s where s.assignment_id = a.id and s.directory_id = $4)) as is`,
    [scope.accountId, scope.environmentId, identityId, directoryId],
  );
  return row!.is;
}
