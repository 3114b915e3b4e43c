import type { EntityManager } from 'typeorm';
import type { Identity } from '../../../entities/identity.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { isMailAddress } from '../logins/address.js';
import { columnsOf } from '../row-pages.js';
import { maySpeakFor } from '../sso-connections/covering.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { assertedAddress } from './asserted-address.js';
import { hasOtherSubject } from './other-subject.js';

/** Why somebody whom the provider vouches for is not let in. */
export const personRefusals = [
  /** Nobody is linked to the subject, and there is no address to go by, or none that somebody new may have. */
  'email_missing',
  /** The provider itself says that it has not confirmed the address, or is one for everybody and does not vouch for it. */
  'email_unverified',
  /** The connection does not speak for the address: its owner has not verified the domain. */
  'domain_not_verified',
  /** The address is of somebody whom the provider has named otherwise before: it may have been given to somebody else. */
  'subject_mismatch',
  /** Nobody has the address, and the connection makes nobody. */
  'identity_unknown',
  /** Not of the Environment or not of the organization, and the connection makes nobody a member. */
  'not_a_member',
  'identity_inactive',
  /** The provider has not asked them anew, though it was told to. */
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
/** Somebody who is here already, as far as a sign-in asks. */
export type KnownPerson = Pick<Identity, (typeof read)[number]>;

/** Whom an assertion speaks of here, and what letting them in would change. */
export type Recognized =
  | { refusal: PersonRefusal }
  | {
      refusal: null;
      /** `subject`: linked before; `address`: known by an address of a verified domain; `new`: nobody yet. */
      by: 'subject' | 'address' | 'new';
      identity: KnownPerson | null;
      /** The address that the provider says; of somebody linked before it may be missing. */
      email: string | null;
      /** Whether they become a member of the Environment, and of the organization. */
      joins: { environment: boolean; organization: boolean };
    };

type OfEndUsers = SsoConnection & { environmentId: string };

/**
 * Looks whom an assertion speaks of. By the subject first, whatever their address is by now; else by the address, if its domain
 * is verified by who has the connection and the provider does not say that the address is unconfirmed, and it has not named its owner
 * otherwise. In a transaction of the Account; it changes nothing, and holds the Identity's row until its end.
 */
export async function recognize(tx: EntityManager, connection: OfEndUsers, assertion: Assertion): Promise<Recognized> {
  const { id: connectionId, accountId } = connection;
  const email = assertedAddress(assertion.email);
  const [linked] = await tx.query<KnownPerson[]>(linkedText, [accountId, connectionId, assertion.subject]);
  const standing = linked && (await standingOf(tx, connection, linked, assertion.subject));
  if (linked && standing?.isLinked) {
    if (!(await isStillIts(tx, connection, linked, standing))) return { refusal: 'domain_not_verified' };
    return recognized(connection, { by: 'subject', identity: linked, email }, standing);
  }

  if (email === null) return { refusal: 'email_missing' };
  if (assertion.emailVerified === false) return { refusal: 'email_unverified' };
  if (!(await maySpeakFor(tx, connection, email))) return { refusal: 'domain_not_verified' };
  const [known] = await tx.query<KnownPerson[]>(addressedText, [accountId, email]);
  if (!known && !isMailAddress(email)) return { refusal: 'email_missing' };
  if (!known) return recognized(connection, { by: 'new', identity: null, email }, nowhere);
  // Of an address that nobody had confirmed, the one of before loses what they had with its owner's first sign-in.
  if (known.emailVerifiedAt && (await hasOtherSubject(tx, connection, known, assertion.subject)))
    return { refusal: 'subject_mismatch' };
  return recognized(connection, { by: 'address', identity: known, email }, await standingOf(tx, connection, known));
}

const personOf = (id: string) =>
  `select ${columnsOf('i', read)} from identities i where (i.account_id = $1) is true and i.id = (${id}) for update`;
const linkedText = personOf(
  'select identity_id from sso_links where connection_id = $2 and subject = $3 and (account_id = $1) is true',
);
// Row-level security keeps PostgreSQL from using the index on addresses; the function may.
const addressedText = personOf('select gatehouse_identity_id($1, $2::citext)');

/** How somebody stands where a connection leads. */
interface Standing {
  /** Null: no member of the Environment. */
  isActive: boolean | null;
  /** Of the connection's organization. */
  isMember: boolean;
  /** Whether everything of them is being deleted. */
  isErased: boolean;
  /** By the subject that was asked for: who added them to the organization while they came has forgotten it. */
  isLinked: boolean;
}
const nowhere: Standing = { isActive: null, isMember: false, isErased: false, isLinked: false };

const standingText = `
select m.is_active as "isActive",
  exists (select from organization_members o
    where o.organization_id = $4 and o.identity_id = $3 and o.environment_id = $2 and o.account_id = $1) as "isMember",
  exists (select from erasures e where e.identity_id = $3 and e.account_id = $1 and e.status = 'running') as "isErased",
  exists (select from sso_links l where l.connection_id = $5 and l.subject = $6 and l.identity_id = $3 and l.account_id = $1) as "isLinked"
from (select) one left join environment_memberships m on m.identity_id = $3 and m.environment_id = $2 and m.account_id = $1`;

/** After the person's row is locked, so that it has what those did who had it locked before. */
async function standingOf(
  tx: EntityManager,
  { id: connectionId, accountId, environmentId, organizationId }: OfEndUsers,
  { id }: KnownPerson,
  subject: string | null = null,
): Promise<Standing> {
  const values = [accountId, environmentId, id, organizationId, connectionId, subject];
  const [standing] = await tx.query<Standing[]>(standingText, values);
  return standing ?? nowhere;
}

/**
 * Whether a link still counts: an organization's, while the person is a member of it or has an address of its domains. Whoever
 * has left, and has another address, would else be somebody whom its provider can be for good.
 */
const isStillIts = async (
  tx: EntityManager,
  connection: OfEndUsers,
  { email }: KnownPerson,
  { isMember }: Standing,
): Promise<boolean> => connection.organizationId === null || isMember || maySpeakFor(tx, connection, email);

type Found = Omit<Extract<Recognized, { refusal: null }>, 'refusal' | 'joins'>;

function recognized(
  { organizationId, jitProvisioningEnabled }: OfEndUsers,
  found: Found,
  { isActive, isMember, isErased }: Standing,
): Recognized {
  if (isActive === false) return { refusal: 'identity_inactive' };
  const joins = { environment: isActive === null, organization: organizationId !== null && !isMember };
  if (!jitProvisioningEnabled && (joins.environment || joins.organization))
    return { refusal: found.identity ? 'not_a_member' : 'identity_unknown' };
  if (isErased) return { refusal: 'identity_unknown' };
  return { refusal: null, ...found, joins };
}
