import type { EntityManager } from 'typeorm';
import type { Identity } from '../../../entities/identity.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { isInProduction } from '../access/assignments/production-people.js';
import { columnsOf } from '../lists/row-pages.js';
import { isMailAddress } from '../logins/address.js';
import { maySpeakFor } from '../sso-connections/covering.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { assertedAddress } from './asserted-address.js';
import { hasOtherSubject } from './other-subject.js';

/** Why a person for whom the provider vouches is refused. */
export const personRefusals = [
  /** Nobody is linked to the subject, and there is no usable address, or none that a new person may have. */
  'email_missing',
  /**
   * The provider itself says that the address is not confirmed, or is a provider for everybody and does not vouch for
   * it.
   */
  'email_unverified',
  /** The connection may not speak for the address: its owner has not verified the domain. */
  'domain_not_verified',
  /**
   * The address belongs to a person whom the provider knew under another subject: it may have been given to somebody
   * else.
   */
  'subject_mismatch',
  /** Nobody has the address, and the connection does not provision. */
  'identity_unknown',
  /** No member of the Environment or of the organization, and the connection does not provision. */
  'not_a_member',
  'identity_inactive',
  /** The provider has not authenticated them again, although it was requested. */
  'reauthentication_missing',
] as const;
export type PersonRefusal = (typeof personRefusals)[number];

const read = [
  'id',
  'email',
  'emailVerifiedAt',
  'verifiedByWord',
  'passwordHash',
  'firstName',
  'lastName',
  'avatarUrl',
  'externalId',
] as const;
/** An existing person, as far as a sign-in needs them. */
export type KnownPerson = Pick<Identity, (typeof read)[number]>;

/** The person of an assertion, and what letting them in would change. */
export type Recognized =
  | { refusal: PersonRefusal }
  | {
      refusal: null;
      /** `subject`: linked before; `address`: known by an address of a verified domain; `new`: nobody yet. */
      by: 'subject' | 'address' | 'new';
      identity: KnownPerson | null;
      /** The address that the provider names; may be missing for a person who was linked before. */
      email: string | null;
      /** Whether they become a member of the Environment, and of the organization. */
      joins: { environment: boolean; organization: boolean };
    };

type OfEndUsers = SsoConnection & { environmentId: string };

/**
 * Finds the person of an assertion: by the subject first, whatever their address is by now; else by the address, if the
 * connection's owner has verified the domain, the provider does not call the address unconfirmed, and does not know its
 * owner under another subject. In a transaction of the Account; it changes nothing, and locks the Identity's row until
 * its end.
 */
export async function recognize(tx: EntityManager, connection: OfEndUsers, assertion: Assertion): Promise<Recognized> {
  const { id: connectionId, accountId } = connection;
  const email = assertedAddress(assertion.email);
  const [linked] = await tx.query<KnownPerson[]>(linkedText, [accountId, connectionId, assertion.subject]);
  const membership = linked && (await membershipOf(tx, connection, linked, assertion.subject));
  if (linked && membership?.isLinked) {
    if (!(await isLinkValid(tx, connection, linked, membership))) return { refusal: 'domain_not_verified' };
    return recognized(connection, { by: 'subject', identity: linked, email }, membership);
  }

  if (email === null) return { refusal: 'email_missing' };
  if (assertion.emailVerified === false) return { refusal: 'email_unverified' };
  if (!(await maySpeakFor(tx, connection, email))) return { refusal: 'domain_not_verified' };
  const [known] = await tx.query<KnownPerson[]>(addressedText, [accountId, email]);
  if (!known && !isMailAddress(email)) return { refusal: 'email_missing' };
  if (!known) return recognized(connection, { by: 'new', identity: null, email }, noMembership);
  if ((await hasOtherSubject(tx, connection, known, assertion)) && (await isSettled(tx, connection, known)))
    return { refusal: 'subject_mismatch' };
  return recognized(connection, { by: 'address', identity: known, email }, await membershipOf(tx, connection, known));
}

const personOf = (id: string, and = '') =>
  `select ${columnsOf('i', read)} from identities i where (i.account_id = $1) is true and i.id = (${id})${and} for update`;
const linkedText = personOf(
  'select identity_id from sso_links where connection_id = $2 and subject = $3 and (account_id = $1) is true',
);
// Row-level security keeps PostgreSQL from using the index on addresses; the function may. The address is compared once
// more with the row that the lock gives, as in `lockIdentityByAddress`: a link to its subject lasts whatever the
// address.
const addressedText = personOf('select gatehouse_identity_id($1, $2::citext)', ' and i.email = $2::citext');

/** A person's membership of the Environment and organization to which a connection leads. */
interface MembershipState {
  /** Null: no member of the Environment. */
  isActive: boolean | null;
  /** Whether they are a member of the connection's organization. */
  isMember: boolean;
  /** Whether they are being erased. */
  isErased: boolean;
  /**
   * Whether the requested subject is still linked to them: adding them to the organization meanwhile removes the link.
   */
  isLinked: boolean;
}
const noMembership: MembershipState = { isActive: null, isMember: false, isErased: false, isLinked: false };

const membershipText = `
select m.is_active as "isActive",
  exists (select from organization_members o
    where o.organization_id = $4 and o.identity_id = $3 and o.environment_id = $2 and o.account_id = $1) as "isMember",
  exists (select from erasures e where e.identity_id = $3 and e.account_id = $1 and e.status = 'running') as "isErased",
  exists (select from sso_links l where l.connection_id = $5 and l.subject = $6 and l.identity_id = $3 and l.account_id = $1) as "isLinked"
from (select) one left join environment_memberships m on m.identity_id = $3 and m.environment_id = $2 and m.account_id = $1`;

/** Read after the person's row is locked, so that it shows the changes of those who had it locked before. */
async function membershipOf(
  tx: EntityManager,
  { id: connectionId, accountId, environmentId, organizationId }: OfEndUsers,
  { id }: KnownPerson,
  subject: string | null = null,
): Promise<MembershipState> {
  const values = [accountId, environmentId, id, organizationId, connectionId, subject];
  const [membership] = await tx.query<MembershipState[]>(membershipText, values);
  return membership ?? noMembership;
}

/**
 * Whether a link is still valid: that of an organization's connection only while the person is a member or has an
 * address of its domains. Otherwise a provider could forever sign in as a person who has left and has another address.
 */
const isLinkValid = async (
  tx: EntityManager,
  connection: OfEndUsers,
  { email }: KnownPerson,
  { isMember }: MembershipState,
): Promise<boolean> => connection.organizationId === null || isMember || maySpeakFor(tx, connection, email);

/**
 * Whether a person stays who they are. If nobody had confirmed the address, its former user loses what they had at its
 * owner's first sign-in; but a test Environment's provider takes nothing away from a person in production.
 */
const isSettled = async (tx: EntityManager, connection: OfEndUsers, { id, emailVerifiedAt }: KnownPerson) =>
  emailVerifiedAt !== null || isInProduction(dbWithin(tx), connection, id);

type Found = Omit<Extract<Recognized, { refusal: null }>, 'refusal' | 'joins'>;

function recognized(
  { organizationId, jitProvisioningEnabled }: OfEndUsers,
  found: Found,
  { isActive, isMember, isErased }: MembershipState,
): Recognized {
  if (isActive === false) return { refusal: 'identity_inactive' };
  const joins = { environment: isActive === null, organization: organizationId !== null && !isMember };
  if (!jitProvisioningEnabled && (joins.environment || joins.organization))
    return { refusal: found.identity ? 'not_a_member' : 'identity_unknown' };
  if (isErased) return { refusal: 'identity_unknown' };
  return { refusal: null, ...found, joins };
}
