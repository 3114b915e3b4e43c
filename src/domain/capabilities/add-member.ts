import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import { recordEvent } from '../events/record.js';
import type { RoleLimits } from './role-limits.js';

interface NewMember {
  accountId: string;
  userId: string;
  roleId: string;
  limits: RoleLimits | null;
  now: Date;
  /** What led to it, for the event: an invite or a connection. */
  by?: { invite_id: string } | { connection_id: string };
}

/** Makes a User a member of an Account with one role, in the caller's transaction. @returns the membership's id */
export async function addMember(
  tx: EntityManager,
  { accountId, userId, roleId, limits, now, by }: NewMember,
): Promise<string> {
  const id = uuidv7();
  await tx.insert(Membership, { id, accountId, userId, createdAt: now });
  await tx.insert(MembershipRole, { membershipId: id, roleId, accountId, limits });
  const metadata = { user_id: userId, role_ids: [roleId], limits, ...by };
  await recordEvent(tx, 'member.added', { accountId, resourceId: id, metadata });
  return id;
}
