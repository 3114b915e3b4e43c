import type { EntityManager } from 'typeorm';
import { ScimUser } from '../../../../entities/scim-user.js';
import { within } from '../../../platform/database/db.js';
import { recordEvent } from '../../events/record.js';
import { setActive } from '../../identities/activation.js';
import { settleRoles } from '../../scim-roles/granting.js';
import { leaveGroups } from '../../scim-roles/leaving-groups.js';
import { type Directory, directoryOf, lockAlso, vouchesFor } from '../directory.js';

/**
 * Takes a person over from another directory, if their domain belongs to this one's owner and not to the other's: what
 * the other one's groups granted ends, and so does a deactivation by it. Their membership in its organization stays.
 * @returns false if the other one has verified the domain, too, and keeps the person
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
  const row = await tx.findOneBy(ScimUser, where); // it may have stopped, or been suspended, before the lock
  if (!row) return true;
  if (row.directoryId !== from.directoryId) return false;
  await leaveGroups(tx, from, id, at);
  await settleRoles(tx, from, [id], at);
  // A person whom the Environment's own directory has deactivated stays so.
  if (row.isSuspended && from.organizationId !== null) await setActive(tx, scope, id, { isActive: true, at });
  await tx.delete(ScimUser, where);
  const metadata = { organization_id: from.organizationId };
  await recordEvent(tx, 'scim_user.unlinked', { ...scope, resourceId: id, metadata });
  return true;
}
