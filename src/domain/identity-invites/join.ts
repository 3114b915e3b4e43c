import { type EntityManager, In } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../../entities/identity.js';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import { Role } from '../../../entities/role.js';
import { actAs } from '../../platform/context.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { placeAssignments } from '../access/assignments/assigning.js';
import { assertStays } from '../erasures/staying.js';
import { recordOfIdentity, updated } from '../events/identity-events.js';
import { recordEvent } from '../events/record.js';
import { assignRoles, rolesInForce } from '../organizations/member-roles.js';
import { addMember } from '../organizations/members.js';
import { startLater } from '../outbox.js';
import { settleProvedAddress } from '../passwords/new-password.js';
import { addMembership, insertIdentity } from '../sign-ups/sign-up.js';
import { recordInvite } from './events.js';
import type { Invited } from './find.js';
import { countPending } from './invited-organizations.js';
import { identityInviteInput } from './process.js';

export interface Joining {
  invite: IdentityInvite;
  invited: Invited;
  scope: EnvironmentScope;
  /** Take precedence over the names in the invite, which take precedence over those of an unverified Identity. */
  names: { firstName?: string | undefined; lastName?: string | undefined };
  /** Null if none was required. */
  passwordHash: string | null;
  now: Date;
}

/** Lets the person in where the invite leads, and ends the invite, in the caller's transaction, which has locked it. */
export async function joinEnvironment(tx: EntityManager, joining: Joining): Promise<void> {
  const { invite, invited, scope, now } = joining;
  const { intent, id } = invite;
  const identityId = invited.identity?.id ?? uuidv7();
  // The actor is the person who opened the link.
  await actAs({ type: 'identity', id: identityId }, async () => {
    await savePerson(tx, identityId, joining);
    if (intent !== 'directory' && !invited.membership) {
      const isKnown = invited.identity !== null;
      await addMembership(tx, scope, identityId, { now, joined: isKnown, by: 'invite' });
    }
    const given = await assignOfferedRoles(tx, identityId, joining);
    const lapsed = invite.roleIds.filter((roleId) => !given.includes(roleId));
    if (lapsed.length > 0)
      await recordInvite(tx, 'role_not_given', invite, { metadata: { role_ids: lapsed, node_id: invite.nodeId } });
    await tx.update(IdentityInvite, { id }, { status: 'accepted', identityId, endedAt: now });
    await countPending(tx, [invite], -1);
    await recordInvite(tx, 'accepted', invite, { metadata: { identity_id: identityId, role_ids: given } });
    await startLater(tx, 'inviteExpiry', { ...identityInviteInput(invite, now), news: 'accepted' });
  });
}

async function savePerson(tx: EntityManager, id: string, joining: Joining): Promise<void> {
  const { invite, invited, scope, passwordHash, now } = joining;
  const { accountId } = scope;
  const { identity, isProved } = invited;
  const firstName = joining.names.firstName ?? invite.firstName ?? identity?.firstName ?? null;
  const lastName = joining.names.lastName ?? invite.lastName ?? identity?.lastName ?? null;
  if (!identity) {
    await insertIdentity(tx, scope, {
      id,
      email: invite.email,
      firstName,
      lastName,
      passwordHash,
      verified: true,
      now,
    });
    if (invite.intent === 'directory')
      await recordEvent(tx, 'identity.created', {
        accountId,
        resourceId: id,
        metadata: { joined: false, invited: true },
      });
    return;
  }
  await assertStays(tx, identity);
  if (isProved) return;
  // The creator of this Identity has not proved the address. The person who proves it now sets the names, and earlier
  // passwords and sessions end: otherwise the creator would know the password of somebody who gets roles by an invite.
  await tx.update(Identity, { accountId, id }, { firstName, lastName, updatedAt: now });
  await recordOfIdentity(tx, scope, { identityId: id }, updated(identity, { firstName, lastName }));
  const owner = { ...scope, identityId: id, membershipId: null };
  await settleProvedAddress(tx, owner, { known: identity, passwordHash, method: 'invite', now });
}

/**
 * Gives the roles that the invite offers, as far as they and their node still exist. An existing assignment keeps its
 * window.
 * @returns the roles in force now, given or held before; not those that are held for a later time only
 */
async function assignOfferedRoles(
  tx: EntityManager,
  identityId: string,
  { invite, scope, now: at }: Joining,
): Promise<string[]> {
  const { organizationId, nodeId, roleIds } = invite;
  if (organizationId) {
    const roles = await tx.findBy(Role, { ...within(scope), id: In(roleIds) });
    const there = roleIds.filter((roleId) => roles.some(({ id }) => id === roleId));
    const isNew = await addMember(tx, scope, { organizationId, identityId, roleIds: there, at });
    const offered = { nodeId: organizationId, identityId, roleIds: there, at };
    if (!isNew) await assignRoles(tx, scope, offered);
    return rolesInForce(tx, scope, offered);
  }
  const wanted = roleIds.map((roleId) => ({ identityId, roleId, nodeId, effectiveFrom: null, effectiveTo: null }));
  const placed = (await placeAssignments(tx, scope, wanted, at)).filter((one) => typeof one !== 'string');
  const [first] = placed; // all at one node
  if (!first) return [];
  const offered = { nodeId: first.nodeId, identityId, roleIds: placed.map(({ roleId }) => roleId), at };
  await assignRoles(tx, scope, offered);
  return rolesInForce(tx, scope, offered);
}
