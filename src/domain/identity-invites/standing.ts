import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { Environment } from '../../../entities/environment.js';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import { Node } from '../../../entities/node.js';
import { User } from '../../../entities/user.js';
import { hashSecret, isSecret } from '../../platform/crypto/one-time-secret.js';
import { within } from '../../platform/database/db.js';
import { applicationNameOf } from '../emails/brand.js';
import { DomainError } from '../errors.js';
import { fullNameOf } from '../full-name.js';
import { identityByAddress } from '../identity-by-address.js';
import { inviteStatusOf } from '../invites/times.js';
import { isVerificationOnlyAsserted } from '../passwords/asserted-verification.js';
import { wasJustDone } from '../sent-twice.js';

/** Somebody with the invite's address, as they stand in its Environment. */
export interface Invited {
  identity: Identity | null;
  /** Whether it is theirs by more than somebody's word. */
  isProved: boolean;
  membership: EnvironmentMembership | null;
}

/** The one with this link, however it stands; null where there is none, or its Environment is being removed. */
export async function inviteOf(tx: EntityManager, token: string): Promise<IdentityInvite | null> {
  const invite = isSecret(token) ? await tx.findOneBy(IdentityInvite, { tokenHash: hashSecret(token) }) : null;
  const place = invite && { id: invite.environmentId, accountId: invite.accountId };
  return place && (await tx.existsBy(Environment, place)) ? invite : null;
}

/** @throws DomainError invite.link_invalid, alike for every token that does not work */
export async function pendingOf(tx: EntityManager, token: string, now: Date): Promise<IdentityInvite> {
  const invite = await inviteOf(tx, token);
  if (!invite || inviteStatusOf(invite, now) !== 'pending') throw new DomainError('invite.link_invalid');
  return invite;
}

/** The one that was accepted by this link within the last minute; null for every other. */
export async function justAcceptedOf(tx: EntityManager, token: string, now: Date): Promise<IdentityInvite | null> {
  const invite = await inviteOf(tx, token);
  return invite?.status === 'accepted' && wasJustDone(invite.endedAt, now) ? invite : null;
}

/** Who has the address by now, with their place. */
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

/** Whether somebody keeps them out, so that the link is void. */
export const isKeptOut = async (tx: EntityManager, invite: IdentityInvite): Promise<boolean> =>
  (await whoHasAddressOf(tx, invite)).membership?.isActive === false;

/**
 * Who has the address by now. An invite lets nobody back in whom somebody keeps out since, and sets them no password either: it
 * would be for the Account's other Environments.
 * @throws DomainError invite.link_invalid
 */
export async function invitedOf(tx: EntityManager, invite: IdentityInvite): Promise<Invited> {
  const invited = await whoHasAddressOf(tx, invite);
  if (invited.membership?.isActive === false) throw new DomainError('invite.link_invalid');
  return invited;
}

/**
 * What is missing of the person: nothing of one who has proved the address, whatever they sign in with. A password of one who
 * has not was set by whoever made the Identity, and who that is nobody knows.
 */
export function needsOf(
  { isProved }: Pick<Invited, 'isProved'>,
  { passwordLoginEnabled }: Pick<EnvironmentSettings, 'passwordLoginEnabled'>,
) {
  const asksNames = !isProved;
  return { asksNames, asksPassword: asksNames && passwordLoginEnabled };
}

/** What people are told of an invite. */
export interface Told {
  accountName: string;
  applicationName: string;
  environmentName: string;
  organizationName: string | null;
  /** Where it leads, as people call it. */
  placeName: string;
  /** Who asks; where that is no person, the Account. */
  inviter: string;
  settings: EnvironmentSettings;
}

/** @throws DomainError invite.link_invalid where the organization is gone */
export async function toldOf(tx: EntityManager, invite: IdentityInvite): Promise<Told> {
  const { accountId, environmentId, organizationId, intent } = invite;
  const { name: accountName } = await tx.findOneByOrFail(Account, { id: accountId });
  const settings = await tx.findOneByOrFail(EnvironmentSettings, { environmentId });
  const applicationName = await applicationNameOf(tx, environmentId);
  const [environment] = await tx.query<{ name: string }[]>('select name from environments where id = $1', [
    environmentId,
  ]);
  const organization = organizationId && (await tx.findOneBy(Node, { accountId, environmentId, id: organizationId }));
  if (intent === 'organization' && !organization) throw new DomainError('invite.link_invalid');
  const organizationName = organization ? organization.name : null;
  const places = { activate: applicationName, directory: accountName, organization: organizationName ?? '' };
  return {
    accountName,
    applicationName,
    environmentName: environment?.name ?? '',
    organizationName,
    placeName: places[intent],
    inviter: (await nameOf(tx, invite)) ?? (intent === 'directory' ? applicationName : accountName),
    settings,
  };
}

/** Of the person who asks; null for an API key, and for one who is gone or has told no name. */
async function nameOf(tx: EntityManager, { accountId, invitedByType, invitedBy: id }: IdentityInvite) {
  if (invitedByType === 'api_key') return null;
  const person =
    invitedByType === 'identity' ? await tx.findOneBy(Identity, { accountId, id }) : await tx.findOneBy(User, { id });
  return person && fullNameOf(person);
}
