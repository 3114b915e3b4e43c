import type { EntityManager } from 'typeorm';
import type { Identity } from '../../../../entities/identity.js';
import { lockMember } from '../../identities/find.js';
import { type Directory, holderOf, vouchesFor } from '../directory.js';
import { ScimRefused } from '../refusal.js';
import { isElsewhere } from './authority.js';
import type { UserRow } from './rows.js';

/**
 * Checks that a directory may change a person's address. A directory that can do that could sign in as them, so it
 * needs the domain of the old address, or a person who has never signed in and has nothing from elsewhere. And the
 * owner of the new address's domain could sign in as them by its provider, with all that others grant them later: so an
 * organization gives a person in use no address of a domain that it has not verified, and nobody an address whose
 * domain somebody else has verified.
 * @param to the new address
 * @returns the person, locked until the end of the transaction
 * @throws ScimRefused forbidden
 */
export async function assertMayMove(
  tx: EntityManager,
  directory: Directory,
  row: Pick<UserRow, 'id' | 'email' | 'madeMembership'>,
  to: string,
): Promise<Identity> {
  const { identity } = await lockMember(tx, directory.scope, row.id); // waits for a first sign-in that is under way
  const isVouchedFor = await vouchesFor(tx, directory, row.email);
  const holder = await holderOf(tx, directory, to);
  if (holder === 'another')
    throw new ScimRefused('forbidden', 'The domain of the new email address is verified by another owner');
  if (isVouchedFor && (directory.organizationId === null || holder === 'owner')) return identity;
  const { passwordHash, emailVerifiedAt } = identity;
  const isUnproved = row.madeMembership && passwordHash === null && (isVouchedFor || emailVerifiedAt === null);
  if (isUnproved && !(await isElsewhere(tx, directory, row.id)) && !(await isUsed(tx, directory, row.id)))
    return identity;
  const which = isVouchedFor ? 'of the new one' : 'of the previous one';
  throw new ScimRefused(
    'forbidden',
    `The email address is in use, and the domain ${which} is not verified by ${ownerOf(directory)}`,
  );
}

export const ownerOf = ({ organizationId }: Directory): string =>
  organizationId === null ? 'the account' : 'the organization';

/** Whether the person has ever signed in, or has something that this directory did not give them. */
async function isUsed(tx: EntityManager, { scope, directoryId }: Directory, identityId: string): Promise<boolean> {
  const [row] = await tx.query<{ is: boolean }[]>(
    `select exists (select from sessions where account_id = $1 and identity_id = $3)
       or exists (select from sso_links where account_id = $1 and identity_id = $3)
       or exists (select from mfa_factors where account_id = $1 and identity_id = $3)
       or exists (select from environment_memberships where account_id = $1 and identity_id = $3 and environment_id <> $2)
       or exists (select from role_assignments a where a.account_id = $1 and a.identity_id = $3 and a.removed_at is null
         and not exists (select from scim_assignments s where s.assignment_id = a.id and s.directory_id = $4)) as is`,
    [scope.accountId, scope.environmentId, identityId, directoryId],
  );
  return row!.is;
}
