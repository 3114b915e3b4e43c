import { Any, type EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import { Node } from '../../../entities/node.js';
import { Organization } from '../../../entities/organization.js';
import { groupBy } from '../../platform/group-by.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { applicationOf } from '../application-of.js';
import type { EventAction } from '../events/catalogue.js';
import { type EventDetails, recordEvents } from '../events/record.js';

export type InviteHappening = 'created' | 'resent' | 'accepted' | 'expired' | 'revoked' | 'role_not_given';

/** An invite into an organization is recorded by events of the organization. */
const ofOrganization = {
  created: 'organization.invitation_created',
  resent: 'organization.invitation_resent',
  accepted: 'organization.invitation_accepted',
  expired: 'organization.invitation_expired',
  revoked: 'organization.invitation_revoked',
  role_not_given: 'organization.invitation_role_not_given',
} as const satisfies Record<InviteHappening, EventAction>;

type Told = Pick<IdentityInvite, 'id' | 'accountId' | 'environmentId' | 'intent' | 'organizationId'>;

/** Ids and plain settings, never an address. */
type More = Pick<EventDetails, 'metadata' | 'actor'>;

/** Records what happened to an invite, in the transaction of the change. */
export const recordInvite = (tx: EntityManager, happening: InviteHappening, invite: Told, more: More = {}) =>
  recordInvites(tx, happening, [invite], more);

/** Records what happened to several invites. */
export async function recordInvites(
  tx: EntityManager,
  happening: InviteHappening,
  invites: readonly Told[],
  more: More,
): Promise<void> {
  const nameOf = await organizationNames(tx, invites);
  for (const [action, told] of groupBy(invites, (invite) => actionOf(happening, invite))) {
    const details = told.map((invite) => detailsOf(invite, more, nameOf(invite)));
    await recordEvents(tx, action, details);
  }
}

/** Reads the current names of the organizations that invites lead into. */
async function organizationNames(tx: EntityManager, invites: readonly Told[]) {
  const ids = [...new Set(invites.map(({ organizationId }) => organizationId).filter((id) => id !== null))];
  const nodes =
    ids.length === 0 ? [] : await tx.find(Node, { where: { id: Any(ids) }, select: { id: true, name: true } });
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return ({ organizationId }: Told) => (organizationId && names.get(organizationId)) ?? null;
}

const actionOf = (happening: InviteHappening, { intent }: Told): EventAction =>
  intent === 'organization' ? ofOrganization[happening] : `identity_invite.${happening}`;

const detailsOf = (
  { id, accountId, environmentId, intent, organizationId }: Told,
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

/** Returns the Environment of an invite as a scope. */
export async function scopeOf(
  tx: EntityManager,
  { accountId, environmentId }: Pick<IdentityInvite, 'accountId' | 'environmentId'>,
): Promise<EnvironmentScope> {
  return { accountId, environmentId, applicationId: (await applicationOf(tx, environmentId)) as string };
}

/**
 * Locks organizations before their invitations. All code here locks in the order person, node, organization, invite, as
 * their deletions do.
 */
export async function keepOrganizations(tx: EntityManager, ids: readonly (string | null)[]): Promise<void> {
  const there = [...new Set(ids.filter((id) => id !== null))];
  if (there.length === 0) return;
  await tx.query('select from nodes where id = any($1) order by id for key share', [there]);
  await tx.query('select from organizations where id = any($1) order by id for no key update', [there]);
}

/** Updates how many invitations of organizations are pending, in the transaction of the change. */
export async function countPending(
  tx: EntityManager,
  invites: readonly Pick<IdentityInvite, 'organizationId'>[],
  each: 1 | -1,
): Promise<void> {
  for (const [id, { length }] of groupBy(invites, ({ organizationId }) => organizationId))
    if (id) await tx.increment(Organization, { id }, 'pendingInviteCount', each * length);
}
