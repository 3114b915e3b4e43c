import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../../entities/identity.js';
import { Role } from '../../../entities/role.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { actAs } from '../../platform/context.js';
import { insertNew } from '../../platform/insert-new.js';
import { violates } from '../../platform/postgres-errors.js';
import { place, write } from '../access/assigning.js';
import { stays } from '../erasures/staying.js';
import { changeIdentity } from '../identities/change.js';
import { addMember } from '../organizations/members.js';
import { settleProvedAddress } from '../passwords/new-password.js';
import type { EnvironmentScope } from '../scope.js';
import { addMembership, insertIdentity } from '../sign-ups/sign-up.js';
import { applicationOf } from '../sso-connections/events.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { type AssertedProfile, mappedProfile, newProfile } from './profile.js';
import { type PersonRefusal, type Recognized, recognize } from './recognition.js';

/** Whom a provider's answer lets in, or why nobody. */
export type Admitted = { identityId: string } | { refusal: PersonRefusal };

interface Admitting {
  connection: SsoConnection;
  assertion: Assertion;
  scope: EnvironmentScope;
  now: Date;
}
type Welcome = Extract<Recognized, { refusal: null }>;

/** What another sign-in of the same person at the same moment may have been faster with: trying again tells the rest. */
export const losesARace = (error: unknown): boolean =>
  ['identities_email', 'identities_external_id', 'environment_memberships_one_per_identity', 'sso_links_subject'].some(
    (constraint) => violates(error, constraint),
  );

/**
 * Lets in whom an assertion speaks of (docs/decisions/0038): links the subject, makes the Identity and its memberships where
 * the connection provisions, and has the profile follow the mapping. In a transaction of the Account.
 * @throws what `losesARace` knows
 */
export async function admit(
  tx: EntityManager,
  connection: SsoConnection,
  assertion: Assertion,
  now: Date,
): Promise<Admitted> {
  const { accountId, environmentId } = connection;
  if (environmentId === null) throw new Error('a connection of administrators has no end users');
  const recognized = await recognize(tx, { ...connection, environmentId }, assertion);
  if (recognized.refusal !== null) return { refusal: recognized.refusal };
  const scope = { accountId, environmentId, applicationId: (await applicationOf(tx, environmentId)) as string };
  const identityId = recognized.identity?.id ?? uuidv7();
  const admitting = { connection, assertion, scope, now };
  return actAs({ type: 'identity', id: identityId }, async () => {
    if (!(await settlePerson(tx, identityId, recognized, admitting))) return { refusal: 'identity_unknown' };
    await settleMemberships(tx, identityId, recognized, admitting);
    await followMapping(tx, identityId, recognized, admitting);
    await link(tx, identityId, admitting);
    return { identityId };
  });
}

/** @returns false where everything of the person is being deleted */
async function settlePerson(tx: EntityManager, id: string, { identity, email, by }: Welcome, admitting: Admitting) {
  const { connection, assertion, scope, now } = admitting;
  if (!identity) {
    const { firstName = null, lastName = null, ...rest } = await free(tx, id, newProfile(assertion, connection), scope);
    const names = { firstName, lastName };
    await insertIdentity(tx, scope, { id, email: email as string, passwordHash: null, verified: true, ...names, now });
    if (Object.keys(rest).length > 0) await tx.update(Identity, { accountId: scope.accountId, id }, rest);
    return true;
  }
  if (!(await stays(tx, identity))) return false;
  if (by !== 'address' || identity.emailVerifiedAt) return true;
  // Whoever made it had not shown that the address is theirs, and may know its password: the domain's owner has shown it now.
  const owner = { ...scope, identityId: id, membershipId: null };
  const hadPassword = identity.passwordHash !== null;
  await settleProvedAddress(tx, owner, { hadPassword, passwordHash: null, method: 'sso', now });
  return true;
}

async function settleMemberships(tx: EntityManager, identityId: string, recognized: Welcome, admitting: Admitting) {
  const { connection, scope, now: at } = admitting;
  const { identity, joins } = recognized;
  const { organizationId, defaultRoleId } = connection;
  if (joins.environment) await addMembership(tx, scope, identityId, { now: at, joined: identity !== null, by: 'sso' });
  const role = defaultRoleId && (await usableRole(tx, scope, defaultRoleId));
  const roleIds = role ? [role] : [];
  if (organizationId !== null) {
    if (joins.organization) await addMember(tx, scope, { organizationId, identityId, roleIds, at });
    return;
  }
  if (!joins.environment) return;
  const atRoot = { identityId, nodeId: null, effectiveFrom: null, effectiveTo: null };
  const wanted = roleIds.map((roleId) => ({ ...atRoot, roleId }));
  const placed = (await place(tx, scope, wanted, at)).filter((one) => typeof one !== 'string');
  await write(tx, scope, placed, at);
}

/** Null for one that was switched off meanwhile; it stays until the end of the transaction. */
async function usableRole(tx: EntityManager, { accountId, environmentId }: EnvironmentScope, id: string) {
  const role = await tx.findOne(Role, {
    where: { accountId, environmentId, id, isActive: true },
    lock: { mode: 'for_key_share' },
  });
  return role?.id ?? null;
}

async function followMapping(tx: EntityManager, identityId: string, { identity }: Welcome, admitting: Admitting) {
  if (!identity) return;
  const { connection, assertion, scope, now } = admitting;
  const profile = await free(tx, identityId, mappedProfile(assertion, connection), scope);
  if (Object.keys(profile).length > 0) await changeIdentity(tx, scope, identityId, profile, now);
}

/** Without an external id that somebody else has: that keeps nobody from signing in. */
async function free(tx: EntityManager, id: string, profile: AssertedProfile, { accountId }: EnvironmentScope) {
  const { externalId, ...rest } = profile;
  if (!externalId) return rest as AssertedProfile;
  const holder = await tx.findOne(Identity, { where: { accountId, externalId }, select: { id: true } });
  return holder && holder.id !== id ? (rest as AssertedProfile) : profile;
}

async function link(tx: EntityManager, identityId: string, { connection, assertion, now }: Admitting): Promise<void> {
  const { id: connectionId, accountId } = connection;
  const { subject } = assertion;
  const row = { id: uuidv7(), accountId, connectionId, subject, identityId, userId: null };
  const made = await insertNew(tx, SsoLink, [{ ...row, createdAt: now, lastLoginAt: now }]);
  if (!made.has(row.id))
    await tx.update(SsoLink, { accountId, connectionId, subject }, { identityId, lastLoginAt: now });
}
