import type { EntityManager } from 'typeorm';
import { ScimUser } from '../../../entities/scim-user.js';
import { within } from '../../platform/database/db.js';
import { recordEvent } from '../events/record.js';
import { setActive } from '../identities/activation.js';
import { settleRoles } from '../scim-roles/granting.js';
import { leaveGroups } from '../scim-roles/leaving-groups.js';
import { type Directory, directoryOf, lockAlso, vouchesFor } from './directory.js';

/**
 * Takes a person over from another directory, if their domain is this one's owner's and not that one's: what that one's
 * groups gave ends, and so does its keeping them out. Their membership in its organization stays.
 * @returns false where that one has verified the domain, too, and goes on
 */
export async function takeOver(
  tx: EntityManager,
  { scope }: Directory,
  { id, email }: { id: string; email: string },
  at: Date,
): Promise<boolean> {
  const where = { ...within(scope), identityId: id };
  const seen = await tx.findOneBy(ScimUser, where);
  if (!seen) return true;
  const from = directoryOf(scope, seen.organizationId);
  if (await vouchesFor(tx, from, email)) return false;
  await lockAlso(tx, from.directoryId);
  const row = await tx.findOneBy(ScimUser, where); // it may have stopped, or been suspended, before the lock was there
  if (!row) return true;
  if (row.directoryId !== from.directoryId) return false;
  await leaveGroups(tx, from, id, at);
  await settleRoles(tx, from, [id], at);
  // Somebody whom the Environment's own directory keeps out stays out.
  if (row.isSuspended && from.organizationId !== null) await setActive(tx, scope, id, { isActive: true, at });
  await tx.delete(ScimUser, where);
  const metadata = { organization_id: from.organizationId };
  await recordEvent(tx, 'scim_user.unlinked', { ...scope, resourceId: id, metadata });
  return true;
}
