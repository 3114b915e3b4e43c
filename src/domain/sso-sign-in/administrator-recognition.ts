import type { EntityManager } from 'typeorm';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { Membership } from '../../../entities/membership.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { User } from '../../../entities/user.js';
import { lockExclusively } from '../../platform/database/advisory-locks.js';
import { userByAddress } from '../addresses/user-by-address.js';
import { inviteStatusOf } from '../invites/times.js';
import { isMailAddress } from '../logins/address.js';
import { maySpeakFor } from '../sso-connections/covering.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { assertedAddress } from './asserted-address.js';
import { hasOtherSubject } from './other-subject.js';
import type { PersonRefusal } from './recognition.js';

/** The person of an assertion by an Account's own provider, before the decision whether they may sign in. */
export type RecognizedAdministrator =
  | { refusal: PersonRefusal }
  | {
      refusal: null;
      /** `subject`: linked before; `address`: known by their address; `new`: nobody yet. */
      by: 'subject' | 'address' | 'new';
      link: SsoLink | null;
      user: User | null;
      email: string;
    };

/**
 * Finds the person of an assertion: by the link to its subject, or else by its address. The Account must have the
 * domain verified, at every sign-in, also for a linked User's address: a User is the same person in all of their
 * Accounts, and only the owner of a domain may say who its people are. In a transaction of the system; it changes
 * nothing.
 */
export async function recognizeAdministrator(
  tx: EntityManager,
  connection: SsoConnection,
  assertion: Assertion,
): Promise<RecognizedAdministrator> {
  const { id: connectionId, accountId } = connection;
  const { subject } = assertion;
  const link = await tx.findOneBy(SsoLink, { accountId, connectionId, subject });
  const linked = link?.userId ? await tx.findOneBy(User, { id: link.userId }) : null;
  const email = linked?.email ?? assertedAddress(assertion.email);
  if (email === null) return { refusal: 'email_missing' };
  if (!linked && assertion.emailVerified === false) return { refusal: 'email_unverified' };
  if (!(await maySpeakFor(tx, connection, email))) return { refusal: 'domain_not_verified' };
  const user = linked ?? (await userByAddress(tx, email));
  if (!user && !isMailAddress(email)) return { refusal: 'email_missing' };
  // Of two people who come with one address at once, the second has to find the first one's link. The User cannot be
  // locked here, since others lock the Account before it.
  if (user && !linked) await lockExclusively(tx, `administrators of ${connectionId}/${user.id}`);
  if (user?.emailVerifiedAt && !linked && (await hasOtherSubject(tx, connection, user, assertion)))
    return { refusal: 'subject_mismatch' };
  return { refusal: null, by: linked ? 'subject' : user ? 'address' : 'new', link, user, email };
}

export const isAdministrator = (tx: EntityManager, accountId: string, user: User | null): Promise<boolean> =>
  user ? tx.existsBy(Membership, { accountId, userId: user.id }) : Promise.resolve(false);

/** The pending invite of an address to an Account, if it can be accepted. */
export async function openInvite(
  tx: EntityManager,
  { accountId, email }: { accountId: string; email: string },
  now: Date,
): Promise<AdministratorInvite | null> {
  const invite = await tx.findOneBy(AdministratorInvite, { accountId, email, status: 'pending' });
  return invite && inviteStatusOf(invite, now) === 'pending' ? invite : null;
}

/**
 * Returns the refusal of a person who is neither a member of the Account nor invited, if the connection does not
 * provision.
 */
export const strangerRefusal = (user: User | null): PersonRefusal => (user ? 'not_a_member' : 'identity_unknown');
