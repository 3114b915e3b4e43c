import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Identity } from '../../../entities/identity.js';
import { Role } from '../../../entities/role.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { actAs } from '../../platform/context.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { hasCondition, violates } from '../../platform/database/postgres-errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { placeAssignments, writeAssignments } from '../access/assignments/assigning.js';
import { isInProduction } from '../access/assignments/production-people.js';
import { changeIdentity } from '../identities/change.js';
import { addMember } from '../organizations/members.js';
import { isVerificationOnlyAsserted } from '../passwords/asserted-verification.js';
import { settleProvedAddress } from '../passwords/new-password.js';
import { addMembership, insertIdentity } from '../sign-ups/sign-up.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { type AssertedProfile, mappedProfile, newProfile } from './profile.js';
import { type PersonRefusal, type Recognized, recognize } from './recognition.js';

/** The person whom a provider's response signs in, with their link; or why nobody. */
export type Admitted = { identityId: string; linkId: string } | { refusal: PersonRefusal };

interface Admitting {
  connection: SsoConnection;
  assertion: Assertion;
  scope: EnvironmentScope;
  now: Date;
}
type Welcome = Extract<Recognized, { refusal: null }>;

/** The provider has named another person by this subject a moment ago, in a sign-in that was faster. */
class LinkedMeanwhile extends Error {}

/**
 * Whether an error means that another sign-in of the same person, or a deletion, was faster: trying again settles it.
 * Deadlocks occur since an organization is deleted with its connection, in another order than sign-ins lock them.
 */
export const losesARace = (error: unknown): boolean =>
  error instanceof LinkedMeanwhile ||
  hasCondition(error, 'deadlock_detected') ||
  ['identities_email', 'identities_external_id', 'environment_memberships_one_per_identity'].some((constraint) =>
    violates(error, constraint),
  );

/**
 * Lets the person of an assertion in (docs/decisions/0038): links the subject, creates the Identity and its memberships
 * if the connection provisions, and updates the profile by the mapping. In a transaction of the Account.
 * @throws errors for which `losesARace` is true
 */
export async function admit(
  tx: EntityManager,
  connection: SsoConnection,
  assertion: Assertion,
  { applicationId, now }: { applicationId: string | null; now: Date },
): Promise<Admitted> {
  const { accountId, environmentId } = connection;
  if (environmentId === null || applicationId === null)
    throw new Error('a connection of administrators has no end users');
  const recognized = await recognize(tx, { ...connection, environmentId }, assertion);
  if (recognized.refusal !== null) return { refusal: recognized.refusal };
  const scope = { accountId, environmentId, applicationId };
  const identityId = recognized.identity?.id ?? uuidv7();
  const admitting = { connection, assertion, scope, now };
  return actAs({ type: 'identity', id: identityId }, async () => {
    if (!recognized.identity) await makePerson(tx, identityId, recognized, admitting);
    const isProved = await isProvedBefore(tx, recognized, admitting); // checked as they arrive: from here on they may be in production
    await settleMemberships(tx, identityId, recognized, admitting);
    if (!isProved) await proveAddress(tx, identityId, recognized, admitting);
    await followMapping(tx, identityId, recognized, admitting);
    return { identityId, linkId: await link(tx, identityId, admitting) };
  });
}

async function makePerson(tx: EntityManager, id: string, { email }: Welcome, admitting: Admitting) {
  const { connection, assertion, scope, now } = admitting;
  const { firstName = null, lastName = null, ...rest } = await free(tx, id, newProfile(assertion, connection), scope);
  const names = { firstName, lastName };
  await insertIdentity(tx, scope, { id, email: email as string, passwordHash: null, verified: true, ...names, now });
  if (Object.keys(rest).length > 0) await tx.update(Identity, { accountId: scope.accountId, id }, rest);
}

/** Whether the person's address was proved, or credibly asserted, before, so that the provider adds nothing. */
async function isProvedBefore(tx: EntityManager, { identity, by }: Welcome, { scope }: Admitting): Promise<boolean> {
  if (!identity || by !== 'address') return true;
  return (
    identity.emailVerifiedAt !== null && !(await isVerificationOnlyAsserted(tx, identity, { ...scope, askedAt: null }))
  );
}

/**
 * Settles the Identity on the person for whom the domain's owner has proved the address: the person who created it had
 * not proved the address, and may know its password.
 */
async function proveAddress(tx: EntityManager, id: string, { identity }: Welcome, { scope, now }: Admitting) {
  if (!identity) return;
  // As for the profile: a test Environment's provider removes nothing by which a person signs in to production.
  if (await isInProduction(dbWithin(tx), scope, id)) return;
  const owner = { ...scope, identityId: id, membershipId: null };
  await settleProvedAddress(tx, owner, { known: identity, passwordHash: null, method: 'sso', now });
}

async function settleMemberships(tx: EntityManager, identityId: string, recognized: Welcome, admitting: Admitting) {
  const { connection, assertion, scope, now: at } = admitting;
  const { identity, joins } = recognized;
  const { id: connectionId, organizationId, defaultRoleId } = connection;
  if (!joins.environment && !joins.organization) return;
  if (joins.environment) await addMembership(tx, scope, identityId, { now: at, joined: identity !== null, by: 'sso' });
  const role = defaultRoleId && (await usableRole(tx, scope, defaultRoleId));
  const roleIds = role ? [role] : [];
  if (organizationId !== null) {
    const assertedBy = { connectionId, subject: assertion.subject };
    if (joins.organization) await addMember(tx, scope, { organizationId, identityId, roleIds, at, assertedBy });
    return;
  }
  if (!joins.environment) return;
  const atRoot = { identityId, nodeId: null, effectiveFrom: null, effectiveTo: null };
  const wanted = roleIds.map((roleId) => ({ ...atRoot, roleId }));
  const placed = (await placeAssignments(tx, scope, wanted, at)).filter((one) => typeof one !== 'string');
  await writeAssignments(tx, scope, placed, at);
}

/** Null for a role that was switched off meanwhile; the role is locked until the end of the transaction. */
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
  const news = Object.entries(mappedProfile(assertion, connection)).filter(
    ([field, value]) => identity[field as keyof AssertedProfile] !== value,
  );
  // A test Environment's provider signs its people in, but decides nothing about production (docs/decisions/0077).
  if (news.length === 0 || (await isInProduction(dbWithin(tx), scope, identityId))) return;
  const profile = await free(tx, identityId, Object.fromEntries(news), scope);
  if (Object.keys(profile).length > 0) await changeIdentity(tx, scope, identityId, profile, now);
}

/** Returns the profile without an external id that another person has, which is no reason to refuse a sign-in. */
async function free(tx: EntityManager, id: string, profile: AssertedProfile, { accountId }: EnvironmentScope) {
  const { externalId, ...rest } = profile;
  if (!externalId) return rest as AssertedProfile;
  const holder = await tx.findOne(Identity, { where: { accountId, externalId }, select: { id: true } });
  return holder && holder.id !== id ? (rest as AssertedProfile) : profile;
}

const linkText = `
insert into sso_links (id, account_id, connection_id, subject, identity_id, created_at, last_login_at) values ($1, $2, $3, $4, $5, $6, $6)
on conflict (connection_id, subject) do update set last_login_at = excluded.last_login_at where sso_links.identity_id = excluded.identity_id
returning id`;

/** @returns the link's id @throws LinkedMeanwhile if the subject is somebody else's by now */
async function link(tx: EntityManager, identityId: string, { connection, assertion, now }: Admitting): Promise<string> {
  const { id: connectionId, accountId } = connection;
  const values = [uuidv7(), accountId, connectionId, assertion.subject, identityId, now];
  const [linked] = await tx.query<{ id: string }[]>(linkText, values);
  if (!linked) throw new LinkedMeanwhile();
  return linked.id;
}
