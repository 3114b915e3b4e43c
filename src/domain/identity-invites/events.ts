import { Any, type EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import { Node } from '../../../entities/node.js';
import { groupBy } from '../../platform/group-by.js';
import type { EventAction } from '../events/catalogue.js';
import { type EventDetails, recordEvents } from '../events/record.js';

export type InviteChange = 'created' | 'resent' | 'accepted' | 'expired' | 'revoked' | 'role_not_given';

/** An invite into an organization is recorded by events of the organization. */
const ofOrganization = {
  created: 'organization.invitation_created',
  resent: 'organization.invitation_resent',
  accepted: 'organization.invitation_accepted',
  expired: 'organization.invitation_expired',
  revoked: 'organization.invitation_revoked',
  role_not_given: 'organization.invitation_role_not_given',
} as const satisfies Record<InviteChange, EventAction>;

type RecordedInvite = Pick<IdentityInvite, 'id' | 'accountId' | 'environmentId' | 'intent' | 'organizationId'>;

/** Ids and plain settings, never an address. */
type More = Pick<EventDetails, 'metadata' | 'actor'>;

/** Records what happened to an invite, in the transaction of the change. */
export const recordInvite = (tx: EntityManager, change: InviteChange, invite: RecordedInvite, more: More = {}) =>
  recordInvites(tx, change, [invite], more);

/** Records what happened to several invites. */
export async function recordInvites(
  tx: EntityManager,
  change: InviteChange,
  invites: readonly RecordedInvite[],
  more: More,
): Promise<void> {
  const nameOf = await organizationNames(tx, invites);
  for (const [action, changed] of groupBy(invites, (invite) => actionOf(change, invite))) {
    const details = changed.map((invite) => detailsOf(invite, more, nameOf(invite)));
    await recordEvents(tx, action, details);
  }
}

/** Reads the current names of the organizations that invites lead into. */
async function organizationNames(tx: EntityManager, invites: readonly RecordedInvite[]) {
  const ids = [...new Set(invites.map(({ organizationId }) => organizationId).filter((id) => id !== null))];
  const nodes =
    ids.length === 0 ? [] : await tx.find(Node, { where: { id: Any(ids) }, select: { id: true, name: true } });
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return ({ organizationId }: RecordedInvite) => (organizationId && names.get(organizationId)) ?? null;
}

const actionOf = (change: InviteChange, { intent }: RecordedInvite): EventAction =>
  intent === 'organization' ? ofOrganization[change] : `identity_invite.${change}`;

const detailsOf = (
  { id, accountId, environmentId, intent, organizationId }: RecordedInvite,
  { metadata, actor }: More,
  organizationName: string | null,
): EventDetails => ({
  accountId,
  environmentId,
  ...(intent === 'organization'
    ? {
        resourceId: organizationId,
        resourceLabel: organizationName,
        metadata: { invitation_id: id, ...metadata },
      }
    : { resourceId: id, metadata: { intent, ...metadata } }),
  ...(actor && { actor }),
});
