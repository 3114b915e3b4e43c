import { Any, type EntityManager, type FindOperator } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../../entities/identity.js';
import { IdentityInvite, type IdentityInviteIntent } from '../../../entities/identity-invite.js';
import { after } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { actorOf, type Caller } from '../caller.js';
import { queueEmail } from '../emails/queue.js';
import { startAllLater, startLater } from '../outbox.js';
import { recordInvite } from './events.js';
import { expireIdentityInvites, revokeIdentityInvites } from './expiry.js';
import { countPending } from './invited-organizations.js';
import { identityInviteToken } from './link.js';
import { identityInviteEmail, identityInviteInput } from './process.js';
import { waitingIds } from './waiting.js';

/** The invited person and what they are invited to. */
export interface Offer {
  intent: IdentityInviteIntent;
  email: string;
  firstName: string | null;
  lastName: string | null;
  roleIds: string[];
  nodeId: string | null;
  organizationId: string | null;
  locale: 'en' | 'de';
}

export interface IssuingDeps {
  sealing: Pick<Sealing, 'derive'>;
  /** Lifetime of a link, in milliseconds. */
  ttlMs: number;
}

/** Creates an invite with its mail and its process, in the caller's transaction. The caller has checked that it may. */
export async function issueInvite(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  caller: Caller,
  offer: Offer,
  { now, ...deps }: IssuingDeps & { now: Date },
): Promise<IdentityInvite> {
  const { email, organizationId } = offer;
  await expireIdentityInvites(tx, { accountId, environmentId, email, organizationId }, now);
  const id = uuidv7();
  const { type: invitedByType, id: invitedBy } = actorOf(caller);
  const invite: IdentityInvite = {
    ...offer,
    ...linkOf(deps, { id, linkNumber: 1, now }),
    id,
    accountId,
    environmentId,
    status: 'pending',
    endedReason: null,
    invitedByType,
    invitedBy,
    identityId: null,
    createdAt: now,
    endedAt: null,
  };
  await tx.insert(IdentityInvite, invite);
  await countPending(tx, [invite], 1);
  await recordInvite(tx, 'created', invite, { metadata: { role_ids: offer.roleIds, node_id: offer.nodeId } });
  await queueEmail(tx, identityInviteEmail(invite), now);
  await startLater(tx, 'inviteExpiry', identityInviteInput(invite, now));
  return invite;
}

/**
 * Issues a new link for a pending or expired invite, which is pending then; the previous link becomes void. The caller
 * has locked the invite.
 */
export async function issueAgain(
  tx: EntityManager,
  invite: IdentityInvite,
  { now, ...deps }: IssuingDeps & { now: Date },
): Promise<IdentityInvite> {
  const { id, accountId, environmentId, email, organizationId } = invite;
  // Another invite to the same address may have expired, which nobody has recorded yet.
  await expireIdentityInvites(tx, { accountId, environmentId, email, organizationId }, now);
  const was = await tx.findOneByOrFail(IdentityInvite, { id });
  const waiting = {
    status: 'pending' as const,
    endedReason: null,
    endedAt: null,
    ...linkOf(deps, { id, linkNumber: invite.linkNumber + 1, now }),
  };
  await tx.update(IdentityInvite, { id }, waiting);
  if (was.status !== 'pending') await countPending(tx, [invite], 1);
  const renewed = { ...invite, ...waiting };
  await recordInvite(tx, 'resent', renewed);
  await queueEmail(tx, identityInviteEmail(renewed), now);
  await startLater(tx, 'inviteExpiry', { ...identityInviteInput(renewed, now), news: 'resent' });
  return renewed;
}

/** Revokes pending invites and ends their processes. The caller has locked the organizations that they lead into. */
export async function withdraw(
  tx: EntityManager,
  invites: readonly IdentityInvite[],
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  const revoked = await revokeIdentityInvites(tx, invites, { reason, at: now });
  const news = revoked.map((invite) => ({ ...identityInviteInput(invite, now), news: 'revoked' as const }));
  await startAllLater(tx, 'inviteExpiry', news);
}

/**
 * Returns the pending invites to an address in an Environment, or in one organization of it. They have to end with a
 * removal from there, so that nobody comes back through an older link.
 */
export async function waitingFor(
  tx: EntityManager,
  {
    accountId,
    environmentId,
    organizationId,
  }: { accountId: string; environmentId: string | FindOperator<string>; organizationId?: string },
  email: string,
): Promise<IdentityInvite[]> {
  return tx.find(IdentityInvite, {
    where: {
      accountId,
      environmentId,
      id: await waitingIds(tx, accountId, email),
      status: 'pending',
      ...(organizationId !== undefined && { organizationId }),
    },
    order: { id: 'ASC' },
  });
}

/**
 * Revokes the pending invites to a member's address in an organization, in the transaction that removes them from it
 * and has locked it.
 */
export async function withdrawFromMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  { organizationId, identityId }: { organizationId: string; identityId: string },
  now: Date,
): Promise<void> {
  const { email } = await tx.findOneByOrFail(Identity, { accountId: scope.accountId, id: identityId });
  await withdraw(tx, await waitingFor(tx, { ...scope, organizationId }, email), { reason: 'member_removed', now });
}

/** Revokes the pending invites into organizations that are about to be deleted. The caller has locked their nodes. */
export async function withdrawInvitations(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  organizationIds: readonly string[],
  now: Date,
): Promise<void> {
  if (organizationIds.length === 0) return;
  const waiting = { accountId, environmentId, organizationId: Any([...organizationIds]), status: 'pending' as const };
  const found = await tx.find(IdentityInvite, { where: waiting, order: { id: 'ASC' } });
  await withdraw(tx, found, { reason: 'organization_deleted', now });
}

/** Returns the columns of a new link. */
function linkOf({ sealing, ttlMs }: IssuingDeps, of: { id: string; linkNumber: number; now: Date }) {
  const { token, keyId } = identityInviteToken(sealing, of);
  return {
    linkNumber: of.linkNumber,
    tokenHash: hashSecret(token),
    tokenKeyId: keyId,
    expiresAt: after(of.now, ttlMs),
  };
}
