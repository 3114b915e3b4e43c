import type { EntityManager } from 'typeorm';
import { ScimUser } from '../../../../entities/scim-user.js';
import type { Clock } from '../../../platform/clock.js';
import { currentContext } from '../../../platform/context.js';
import { within } from '../../../platform/database/db.js';
import { dbWithin } from '../../../platform/database/db-within.js';
import type { Assignments } from '../../access/assignments/assignments.js';
import { setActive } from '../../identities/activation.js';
import { lockMember } from '../../identities/find.js';
import { removeMember } from '../../identities/remove.js';
import { withdrawFromMember } from '../../identity-invites/issue.js';
import { addMember } from '../../organizations/members.js';
import { createMemberships } from '../../organizations/memberships.js';
import { settleRoles } from '../../scim-roles/granting.js';
import { leaveGroups } from '../../scim-roles/leaving-groups.js';
import { endSessions } from '../../sessions/end-sessions.js';
import { type Directory, directoryOf, vouchesFor } from '../directory.js';
import { ScimRefused } from '../refusal.js';
import { isElsewhere, isItsOwn, isOfAnother } from './authority.js';
import type { UserRow } from './rows.js';
import { rememberSuspensions } from './suspensions.js';

export interface PresenceDeps {
  assignments: Assignments;
  now: Clock;
}

/**
 * Activates and deactivates people, in the transaction of the change. An Environment's directory decides on the
 * membership in the Environment. That of an organization decides on the membership in the organization, and on that in
 * the Environment only as far as the person is its own (docs/decisions/0040).
 */
export function createPresence({ assignments, now }: PresenceDeps) {
  /**
   * Ends membership in the organization and all sessions; but not the sessions of people whose domain somebody else has
   * verified.
   */
  const leave = async (tx: EntityManager, directory: Directory, row: UserRow) => {
    const { scope, organizationId } = directory;
    const { id: identityId } = row;
    if (organizationId !== null && row.isMember)
      await createMemberships({ db: dbWithin(tx), assignments, endInvitations: withdrawFromMember, now }).remove(
        scope,
        {
          organizationId,
          identityId,
        },
      );
    if (await isOfAnother(tx, directory, row)) return;
    await endSessions(tx, scope, identityId, { reason: 'deprovisioned', at: now(), by: currentContext().actor });
  };
  const setSuspended = (
    tx: EntityManager,
    { scope }: Directory,
    identityId: string,
    to: Pick<ScimUser, 'isSuspended'>,
  ) => tx.update(ScimUser, { ...within(scope), identityId }, { ...to, updatedAt: now() });

  /** Deactivates a person; their sessions end at once. */
  async function keepOut(tx: EntityManager, directory: Directory, row: UserRow): Promise<void> {
    const { scope } = directory;
    if (directory.organizationId === null || (await isItsOwn(tx, directory, row))) {
      const isChanged = await setActive(tx, scope, row.id, { isActive: false, at: now() });
      if (!isChanged) return; // the application has deactivated them already
    } else {
      if (!row.isMember && row.isSuspended) return;
      await leave(tx, directory, row);
    }
    await setSuspended(tx, directory, row.id, { isSuspended: true });
  }

  /**
   * Activates a person.
   * @throws ScimRefused forbidden if it was not the organization's directory that deactivated them, or if somebody else
   *   has verified their domain
   */
  async function letIn(tx: EntityManager, directory: Directory, row: UserRow): Promise<void> {
    const { scope, organizationId } = directory;
    if (organizationId !== null && (await isOfAnother(tx, directory, row)))
      throw new ScimRefused('forbidden', 'The domain of the email address is verified by another owner');
    if (!row.isLetIn) {
      if (!(await hasDeactivated(tx, directory, row)))
        throw new ScimRefused('forbidden', 'The user was deactivated in the environment, and not by this directory');
      await setActive(tx, scope, row.id, { isActive: true, at: now() });
    }
    if (organizationId !== null && !row.isMember)
      await addMember(tx, scope, { organizationId, identityId: row.id, roleIds: [], at: now() });
    await setSuspended(tx, directory, row.id, { isSuspended: false });
  }

  return {
    async set(tx: EntityManager, directory: Directory, row: UserRow, isActive: boolean): Promise<void> {
      // Somebody who has left the organization is not active, but may still be let into the Environment: keeping them
      // out changes something.
      if (isActive ? row.isActive : !row.isLetIn) return;
      await (isActive ? letIn : keepOut)(tx, directory, row);
      await settleRoles(tx, directory, [row.id], now());
    },

    /** Ends the provisioning of a person, and their membership in the Environment if the directory has created it. */
    async end(tx: EntityManager, directory: Directory, row: UserRow): Promise<void> {
      const { scope, organizationId } = directory;
      const isRemoved = organizationId === null || (await mayEndMembership(tx, directory, row));
      if (isRemoved) return removeMember(tx, scope, row.id, now); // SCIM's own rows are deleted with it
      await lockMember(tx, scope, row.id); // waits for a deactivation for another reason
      await rememberSuspensions(tx, scope, { identityId: row.id });
      await leave(tx, directory, row);
      await leaveGroups(tx, directory, row.id, now());
      await settleRoles(tx, directory, [row.id], now());
      await tx.delete(ScimUser, { ...within(scope), identityId: row.id });
    },
  };
}

/**
 * Whether an organization's directory has created the membership in the Environment, and nobody else depends on it now.
 */
const mayEndMembership = async (tx: EntityManager, directory: Directory, row: UserRow): Promise<boolean> =>
  row.madeMembership && !(await isElsewhere(tx, directory, row.id)) && !(await isOfAnother(tx, directory, row));

/**
 * Whether the directory has deactivated the person: now, before it stopped provisioning them, or through a directory
 * whose owner no longer has their domain.
 */
async function hasDeactivated(tx: EntityManager, directory: Directory, { email, isSuspended, keptOutBy }: UserRow) {
  const { scope, organizationId } = directory;
  if (organizationId === null || isSuspended || keptOutBy === organizationId) return true;
  if (keptOutBy === null || !(await vouchesFor(tx, directory, email))) return false;
  return !(await vouchesFor(tx, directoryOf(scope, keptOutBy), email));
}
