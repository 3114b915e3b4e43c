import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import { Organization } from '../../../entities/organization.js';
import { applicationOf } from '../application-of.js';
import type { EventAction } from '../event-catalogue.js';
import { type EventDetails, recordEvent } from '../events.js';
import type { EnvironmentScope } from '../scope.js';

export type InviteHappening = 'created' | 'resent' | 'accepted' | 'expired' | 'revoked' | 'role_not_given';

/** By what an invite into an organization is told: by events of the organization. */
const ofOrganization = {
  created: 'organization.invitation_created',
  resent: 'organization.invitation_resent',
  accepted: 'organization.invitation_accepted',
  expired: 'organization.invitation_expired',
  revoked: 'organization.invitation_revoked',
  role_not_given: 'organization.invitation_role_not_given',
} as const satisfies Record<InviteHappening, EventAction>;

type Told = Pick<IdentityInvite, 'id' | 'accountId' | 'environmentId' | 'intent' | 'organizationId'>;

/** Records what happened to an invite, in the transaction of the change. @param more ids and plain settings, never an address */
export async function recordInvite(
  tx: EntityManager,
  happening: InviteHappening,
  { id, accountId, environmentId, intent, organizationId }: Told,
  { metadata = {}, actor }: Pick<EventDetails, 'metadata' | 'actor'> = {},
): Promise<void> {
  const scope = { accountId, environmentId };
  const by = actor && { actor };
  if (intent === 'organization') {
    const about = { invitation_id: id, ...metadata };
    await recordEvent(tx, ofOrganization[happening], {
      ...scope,
      resourceId: organizationId,
      metadata: about,
      ...by,
    });
    return;
  }
  const about = { intent, ...metadata };
  await recordEvent(tx, `identity_invite.${happening}`, { ...scope, resourceId: id, metadata: about, ...by });
}

/** The Environment of an invite as rules ask for it. */
export async function scopeOf(
  tx: EntityManager,
  { accountId, environmentId }: Pick<IdentityInvite, 'accountId' | 'environmentId'>,
): Promise<EnvironmentScope> {
  return { accountId, environmentId, applicationId: (await applicationOf(tx, environmentId)) as string };
}

/**
 * Locks organizations before their invitations: everything here takes the locks in the order person, node, organization,
 * invite, as who deletes one of them does.
 */
export async function keepOrganizations(tx: EntityManager, ids: readonly (string | null)[]): Promise<void> {
  const there = [...new Set(ids.filter((id) => id !== null))];
  if (there.length === 0) return;
  await tx.query('select from nodes where id = any($1) order by id for key share', [there]);
  await tx.query('select from organizations where id = any($1) order by id for no key update', [there]);
}

/** Keeps the number of an organization's invitations that wait, in the transaction of each change. */
export async function countPending(
  tx: EntityManager,
  { organizationId }: Pick<IdentityInvite, 'organizationId'>,
  change: 1 | -1,
): Promise<void> {
  if (organizationId) await tx.increment(Organization, { id: organizationId }, 'pendingInviteCount', change);
}
