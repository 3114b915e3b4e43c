import type { EntityManager } from 'typeorm';
import { Environment } from '../../../entities/environment.js';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { Identity } from '../../../entities/identity.js';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import { inShareOf } from '../../platform/context.js';
import { hashSecret, isSecret } from '../../platform/crypto/one-time-secret.js';
import { within } from '../../platform/database/db.js';
import { identityByAddress } from '../addresses/identity-by-address.js';
import { DomainError } from '../errors.js';
import { inviteStatusOf } from '../invites/times.js';
import { wasJustDone } from '../one-time/sent-twice.js';
import { isVerificationOnlyAsserted } from '../passwords/asserted-verification.js';

/** The person with the invite's address, and their membership of its Environment. */
export interface Invited {
  identity: Identity | null;
  /** Whether the address is verified by more than somebody's word. */
  isProved: boolean;
  membership: EnvironmentMembership | null;
}

/**
 * Returns the invite with this token, whatever its status; null if there is none or its Environment is being removed.
 * From here on the request works for the invite's Account.
 */
export async function inviteOf(tx: EntityManager, token: string): Promise<IdentityInvite | null> {
  const invite = isSecret(token) ? await tx.findOneBy(IdentityInvite, { tokenHash: hashSecret(token) }) : null;
  if (invite) inShareOf(invite.accountId);
  const place = invite && { id: invite.environmentId, accountId: invite.accountId };
  return place && (await tx.existsBy(Environment, place)) ? invite : null;
}

/** Returns the pending invite with this token, or else null. */
export async function findPending(tx: EntityManager, token: string, now: Date): Promise<IdentityInvite | null> {
  const invite = await inviteOf(tx, token);
  return invite && inviteStatusOf(invite, now) === 'pending' ? invite : null;
}

/** @throws DomainError invite.link_invalid, the same for every token that does not work */
export async function pendingOf(tx: EntityManager, token: string, now: Date): Promise<IdentityInvite> {
  const invite = await findPending(tx, token, now);
  if (!invite) throw new DomainError('invite.link_invalid');
  return invite;
}

/** Returns the invite with this token if it was accepted within the last minute, or else null. */
export async function justAcceptedOf(tx: EntityManager, token: string, now: Date): Promise<IdentityInvite | null> {
  const invite = await inviteOf(tx, token);
  return invite?.status === 'accepted' && wasJustDone(invite.endedAt, now) ? invite : null;
}

/** Returns who has the address now, with their membership. */
async function whoHasAddressOf(tx: EntityManager, invite: IdentityInvite): Promise<Invited> {
  const identity = await identityByAddress(tx, invite, invite.email);
  const membership =
    identity && (await tx.findOneBy(EnvironmentMembership, { ...within(invite), identityId: identity.id }));
  const { accountId, environmentId, createdAt: askedAt } = invite;
  const isProved =
    identity !== null &&
    identity.emailVerifiedAt !== null &&
    !(await isVerificationOnlyAsserted(tx, identity, { accountId, environmentId, askedAt }));
  return { identity, isProved, membership };
}

/** Whether the person's membership is deactivated, which makes the link void. */
export const isKeptOut = async (tx: EntityManager, invite: IdentityInvite): Promise<boolean> =>
  (await whoHasAddressOf(tx, invite)).membership?.isActive === false;

/**
 * Returns who has the address now. An invite does not let a person back in whose membership was deactivated, nor does
 * it set them a password, which would work in the Account's other Environments.
 * @throws DomainError invite.link_invalid
 */
export async function invitedOf(tx: EntityManager, invite: IdentityInvite): Promise<Invited> {
  const invited = await whoHasAddressOf(tx, invite);
  if (invited.membership?.isActive === false) throw new DomainError('invite.link_invalid');
  return invited;
}

/**
 * Returns what the person still has to enter: nothing if they have proved the address, whatever they sign in with. If
 * they have not, nobody knows who created the Identity and set its password.
 */
export function needsOf(
  { isProved }: Pick<Invited, 'isProved'>,
  { passwordLoginEnabled }: Pick<EnvironmentSettings, 'passwordLoginEnabled'>,
) {
  const asksNames = !isProved;
  return { asksNames, asksPassword: asksNames && passwordLoginEnabled };
}
