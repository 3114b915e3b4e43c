import type { EntityManager } from 'typeorm';
import type { Capability } from './administrator-roles.js';
import { capabilitiesAt, type HeldRole } from './roles-authority.js';

/** The place of something that administrators manage. */
export interface ManagedPlace {
  accountId: string;
  applicationId: string | null;
  environmentId: string | null;
}

/** Returns the ids of the users who hold a capability at a place: the recipients of mails about it. */
export async function managersAt(
  tx: EntityManager,
  { accountId, applicationId, environmentId }: ManagedPlace,
  capability: Capability,
): Promise<string[]> {
  const held = await tx.query<(HeldRole & { userId: string })[]>(
    `select m.user_id as "userId", r.system_key as "systemKey", r.capabilities, mr.limits
     from memberships m
     join membership_roles mr on mr.membership_id = m.id
     join administrator_roles r on r.id = mr.role_id
     where m.account_id = $1`,
    [accountId],
  );
  const users = [...new Set(held.map(({ userId }) => userId))];
  return users.filter((user) =>
    capabilitiesAt(
      held.filter(({ userId }) => userId === user),
      { applicationId, environmentId },
    ).includes(capability),
  );
}
