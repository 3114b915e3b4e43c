import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../../entities/environment-membership.js';
import { Identity } from '../../../../entities/identity.js';
import { OrganizationMember } from '../../../../entities/organization-member.js';
import { ScimUser } from '../../../../entities/scim-user.js';
import { currentContext } from '../../../platform/context.js';
import { inTransaction, within } from '../../../platform/database/db.js';
import { violates } from '../../../platform/database/postgres-errors.js';
import { lockIdentityByAddress } from '../../addresses/identity-by-address.js';
import { stays } from '../../erasures/staying.js';
import { recordEvent } from '../../events/record.js';
import { lockIdentity } from '../../identities/find.js';
import { addKnown } from '../../identities/identities.js';
import { newIdentity, newMembership } from '../../identities/new-identity.js';
import { addNewcomer } from '../../identities/newcomers.js';
import { isVerificationOnlyAsserted } from '../../passwords/asserted-verification.js';
import { type ProvedAddress, settleProvedAddress } from '../../passwords/new-password.js';
import { type Directory, holderOf, vouchesFor } from '../directory.js';
import { ScimRefused } from '../refusal.js';
import { ownerOf } from './addresses.js';
import type { WantedUser } from './resource.js';
import type { UserRow } from './rows.js';
import { takeOver } from './takeover.js';

export interface Joined {
  id: string;
  /** Whether the person was in the Account's directory already. */
  isKnown: boolean;
  madeMembership: boolean;
}

/**
 * Makes a person a member of the Environment, or finds the member. A person who is in the Account's directory already
 * belongs to somebody else, unless the domain of their address is the owner's (docs/decisions/0040).
 * @throws ScimRefused uniqueness
 */
export async function joinByDirectory(
  tx: EntityManager,
  directory: Directory,
  wanted: WantedUser,
  at: Date,
): Promise<Joined> {
  const { scope } = directory;
  const { email, firstName, lastName } = wanted;
  const holder = await holderOf(tx, directory, email);
  // Refused whether or not the person exists: they would belong to somebody else from the start.
  if (holder === 'another') throw taken('The domain of this email address is verified by another owner');
  const isVouchedFor = holder === 'owner';
  const made = newIdentity(scope, { email, emailVerified: isVouchedFor, firstName, lastName }, null, at);
  const identity = { ...made, verifiedByWord: false }; // the domain's owner vouches for the address
  const membership = newMembership(scope, identity.id, at);
  const isNew = await addNewcomer(inTransaction(tx), scope, { identity, membership });
  if (isNew) return { id: identity.id, isKnown: false, madeMembership: true };
  const known = await lockIdentityByAddress(tx, scope, email);
  if (known && !(await stays(tx, known)))
    throw taken('The user with this email address is being deleted; try again in a moment');
  if (!isVouchedFor)
    throw taken(
      `There is already a user with this email address; ${ownerOf(directory)} can provision them once its domain is verified`,
    );
  if (!known) throw taken('This email address has just been taken');
  const isMember = await tx.existsBy(EnvironmentMembership, { ...within(scope), identityId: known.id });
  if (!isMember) await takeIn(tx, directory, identity, known.id);
  else await assertNotThere(tx, directory, known, at);
  return { id: known.id, isKnown: true, madeMembership: !isMember };
}

/**
 * Makes a person a member with what they have already; but not if they enter production for the first time, and their
 * address's verification was only asserted: the person who asserted it may know the password (docs/decisions/0077).
 */
async function takeIn(tx: EntityManager, directory: Directory, wanted: Identity, id: string): Promise<void> {
  const { scope } = directory;
  const { accountId } = scope;
  await lockIdentity(tx, scope, id);
  const held = await tx.findOneByOrFail(Identity, { accountId, id });
  // Checked before they become a member: from then on they are in production.
  const isOnlyAsserted = await isVerificationOnlyAsserted(tx, held, { ...scope, askedAt: null });
  await addKnown(tx, scope, wanted);
  if (isOnlyAsserted) await proveByOwner(tx, directory, held, wanted.createdAt);
}

/**
 * Settles the Identity on the person to whom the owner of the domain has given the address: the person who created it
 * had not proved the address, and may know its password. In a transaction that has locked the Identity.
 */
export async function proveByOwner(
  tx: EntityManager,
  { scope, organizationId }: Directory,
  { id: identityId, ...known }: Pick<Identity, 'id'> & ProvedAddress['known'],
  now: Date,
): Promise<void> {
  const owner = { ...scope, identityId, membershipId: null };
  const by = currentContext().actor;
  const proved = { known, passwordHash: null, method: 'scim', provenFor: { organizationId }, by, now };
  await settleProvedAddress(tx, owner, proved);
}

/**
 * @throws ScimRefused uniqueness if they are in the directory's place already, or in that of another one that keeps
 *   them
 */
async function assertNotThere(tx: EntityManager, directory: Directory, known: Identity, at: Date): Promise<void> {
  const { scope, organizationId } = directory;
  const where = { ...within(scope), identityId: known.id };
  const isThere =
    organizationId === null ||
    (await tx.existsBy(OrganizationMember, { ...where, organizationId })) ||
    (await tx.existsBy(ScimUser, { ...where, organizationId })); // it has a person who has left the organization, too
  if (isThere) throw taken('There is already a user with this email address');
  if (!(await takeOver(tx, directory, known, at))) throw elsewhere('uniqueness');
}

const taken = (detail: string) => new ScimRefused('uniqueness', detail);

/** @throws ScimRefused uniqueness */
export async function assertNameIsFree(
  tx: EntityManager,
  { scope, directoryId }: Directory,
  userName: string,
): Promise<void> {
  const key = { ...within(scope), directoryId, userNameKey: userName.toLowerCase() };
  if (await tx.existsBy(ScimUser, key)) throw taken('There is already a user with this userName');
}

const elsewhere = (refusal: 'uniqueness' | 'forbidden') =>
  new ScimRefused(refusal, 'Another directory provisions this user');

/**
 * Makes the directory provision this person from now on.
 * @param refusal if another directory has begun to do so in the same moment
 * @throws ScimRefused
 */
export async function linkPerson(
  tx: EntityManager,
  directory: Directory,
  wanted: Pick<WantedUser, 'userName' | 'externalId' | 'attributes'>,
  { id, isKnown, madeMembership }: Joined,
  at: Date,
  refusal: Parameters<typeof elsewhere>[0] = 'uniqueness',
): Promise<void> {
  const { scope, organizationId, directoryId } = directory;
  const { userName, externalId, attributes } = wanted;
  const row: ScimUser = {
    ...within(scope),
    identityId: id,
    organizationId,
    directoryId,
    userName,
    userNameKey: userName.toLowerCase(),
    externalId,
    attributes,
    madeMembership,
    isSuspended: false,
    createdAt: at,
    updatedAt: at,
  };
  await tx.insert(ScimUser, row).catch((error: unknown) => {
    throw violates(error, 'scim_users_pkey') ? elsewhere(refusal) : error;
  });
  const metadata = { organization_id: organizationId, joined: isKnown };
  await recordEvent(tx, 'scim_user.linked', { ...scope, resourceId: id, metadata });
}

/**
 * Takes over a person of the place whom the directory wants to change and does not provision yet.
 * @throws ScimRefused forbidden if the domain of the address is not the owner's, or another directory provisions them
 */
export async function adoptPerson(tx: EntityManager, directory: Directory, row: UserRow, at: Date): Promise<void> {
  if (row.userName !== null) return;
  if (!(await vouchesFor(tx, directory, row.email)))
    throw new ScimRefused('forbidden', `The domain of the email address is not verified by ${ownerOf(directory)}`);
  if (!(await takeOver(tx, directory, row, at))) throw elsewhere('forbidden');
  const wanted = { userName: row.email, externalId: null, attributes: {} };
  await assertNameIsFree(tx, directory, row.email);
  await linkPerson(
    tx,
    directory,
    wanted,
    { id: row.id, isKnown: true, madeMembership: directory.organizationId === null },
    at,
    'forbidden',
  );
}
