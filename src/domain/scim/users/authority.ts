import type { EntityManager } from 'typeorm';
import { dbWithin } from '../../../platform/database/db-within.js';
import { isInProduction } from '../../access/assignments/production-people.js';
import { organizationIdsOf } from '../../organizations/members.js';
import { type Directory, holderOf, vouchesFor } from '../directory.js';
import { ScimRefused } from '../refusal.js';
import type { UserRow } from './rows.js';

/** What a directory may decide about a person whom it provisions (docs/decisions/0040). */

type Person = Pick<UserRow, 'id' | 'email' | 'madeMembership'>;

/**
 * Whether the address's domain is the owner's, or the person belongs to the directory alone: created by it, in no other
 * organization, and with a domain that nobody else has verified since.
 */
export async function isItsOwn(tx: EntityManager, directory: Directory, person: Person): Promise<boolean> {
  const holder = await holderOf(tx, directory, person.email);
  if (holder !== 'nobody' || directory.organizationId === null) return holder !== 'another';
  return person.madeMembership && !(await isElsewhere(tx, directory, person.id));
}

/**
 * Whether somebody else has the domain. Then the directory may not end sessions or the membership in the Environment.
 */
export const isOfAnother = async (tx: EntityManager, directory: Directory, { email }: Pick<Person, 'email'>) =>
  (await holderOf(tx, directory, email)) === 'another';

/**
 * Checks that a directory may write the profile. All organizations share it, so only the directory that has the person
 * to itself may write it; and so do all Environments, so if the person is in production, a directory of a test
 * Environment may only write it if its owner has the domain (docs/decisions/0077).
 * @throws ScimRefused forbidden
 */
export async function assertMayRename(tx: EntityManager, directory: Directory, person: Person): Promise<void> {
  if (await vouchesFor(tx, directory, person.email)) return;
  if (await isInProduction(dbWithin(tx), directory.scope, person.id))
    throw new ScimRefused('forbidden', 'The user is in a production environment, and of a domain that is not verified');
  if (!(await isItsOwn(tx, directory, person)))
    throw new ScimRefused(
      'forbidden',
      'The user does not belong only to this directory, nor to a domain that its owner has verified',
    );
}

/** Whether the person is a member of another organization of the Environment. */
export async function isElsewhere(
  tx: EntityManager,
  { scope, organizationId }: Directory,
  id: string,
): Promise<boolean> {
  return (await organizationIdsOf(tx, scope, id)).some((one) => one !== organizationId);
}
