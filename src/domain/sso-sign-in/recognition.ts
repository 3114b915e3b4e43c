import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { covers } from '../sso-connections/covering.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { assertedAddress } from './asserted-address.js';

/** Why somebody whom the provider vouches for is not let in. */
export const personRefusals = [
  /** Nobody is linked to the subject, and there is no address to go by. */
  'email_missing',
  /** The provider itself says that it has not confirmed the address, or is one for everybody and does not vouch for it. */
  'email_unverified',
  /** The connection does not speak for the address: its owner has not verified the domain. */
  'domain_not_verified',
  /** Nobody has the address, and the connection makes nobody. */
  'identity_unknown',
  /** Not of the Environment or not of the organization, and the connection makes nobody a member. */
  'not_a_member',
  'identity_inactive',
  /** The provider has not asked them anew, though it was told to. */
  'reauthentication_missing',
] as const;
export type PersonRefusal = (typeof personRefusals)[number];

/** Whom an assertion speaks of here, and what letting them in would change. */
export type Recognized =
  | { refusal: PersonRefusal }
  | {
      refusal: null;
      /** `subject`: linked before; `address`: known by an address of a verified domain; `new`: nobody yet. */
      by: 'subject' | 'address' | 'new';
      identity: Identity | null;
      /** The address that the provider says; of somebody linked before it may be missing. */
      email: string | null;
      /** Whether they become a member of the Environment, and of the organization. */
      joins: { environment: boolean; organization: boolean };
    };

type OfEndUsers = SsoConnection & { environmentId: string };

/**
 * Looks whom an assertion speaks of. By the subject first, whatever their address is by now; else by the address, if its domain
 * is verified by who has the connection and the provider does not say that the address is unconfirmed. In a transaction of the
 * Account; it changes nothing, and holds the Identity's row until its end.
 */
export async function recognize(tx: EntityManager, connection: OfEndUsers, assertion: Assertion): Promise<Recognized> {
  const { id: connectionId, accountId } = connection;
  const email = assertedAddress(assertion.email);
  const link = await tx.findOneBy(SsoLink, { accountId, connectionId, subject: assertion.subject });
  const linked = link?.identityId ? await locked(tx, accountId, link.identityId) : null;
  if (linked && !(await isStillIts(tx, connection, linked))) return { refusal: 'domain_not_verified' };
  if (linked) return standing(tx, connection, { by: 'subject', identity: linked, email });

  if (email === null) return { refusal: 'email_missing' };
  if (assertion.emailVerified === false) return { refusal: 'email_unverified' };
  if (!(await covers(tx, connection, email))) return { refusal: 'domain_not_verified' };
  // Row-level security keeps PostgreSQL from using the index on addresses; the function may.
  const [found] = await tx.query<{ id: string | null }[]>('select gatehouse_identity_id($1, $2::citext) as id', [
    accountId,
    email,
  ]);
  const known = found?.id ? await locked(tx, accountId, found.id) : null;
  return standing(tx, connection, { by: known ? 'address' : 'new', identity: known, email });
}

/**
 * Whether a link still counts: an organization's, while the person is a member of it or has an address of its domains. Whoever
 * has left, and has another address, would else be somebody whom its provider can be for good.
 */
async function isStillIts(tx: EntityManager, connection: OfEndUsers, { id, email }: Identity): Promise<boolean> {
  const { accountId, environmentId, organizationId } = connection;
  if (organizationId === null) return true;
  const where = { accountId, environmentId, organizationId, identityId: id };
  return (await tx.existsBy(OrganizationMember, where)) || covers(tx, connection, email);
}

const locked = (tx: EntityManager, accountId: string, id: string) =>
  tx.findOne(Identity, { where: { accountId, id }, lock: { mode: 'pessimistic_write' } });

interface Found {
  by: 'subject' | 'address' | 'new';
  identity: Identity | null;
  email: string | null;
}

async function standing(tx: EntityManager, connection: OfEndUsers, found: Found): Promise<Recognized> {
  const { accountId, environmentId, organizationId, jitProvisioningEnabled } = connection;
  const { identity } = found;
  const where = identity && { accountId, environmentId, identityId: identity.id };
  const membership = where && (await tx.findOneBy(EnvironmentMembership, where));
  if (membership?.isActive === false) return { refusal: 'identity_inactive' };
  const belongs =
    organizationId === null ||
    (where !== null && (await tx.existsBy(OrganizationMember, { ...where, organizationId })));
  const joins = { environment: !membership, organization: !belongs };
  if (!jitProvisioningEnabled && (joins.environment || joins.organization))
    return { refusal: identity ? 'not_a_member' : 'identity_unknown' };
  return { refusal: null, ...found, joins };
}
