import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { Membership } from '../../../entities/membership.js';
import { MembershipRole } from '../../../entities/membership-role.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import { User } from '../../../entities/user.js';
import { actAs } from '../../platform/context.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { recordEvent } from '../events.js';
import { join, saveUser } from '../invites/join.js';
import { statusOf } from '../invites/process.js';
import { covers } from '../sso-connections/covering.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { assertedAddress } from './asserted-address.js';
import { newProfile } from './profile.js';
import type { PersonRefusal } from './recognition.js';

interface Admitting {
  connection: SsoConnection;
  assertion: Assertion;
  email: string;
  user: User | null;
  now: Date;
}

/**
 * Lets an administrator in of whom an assertion speaks: who is linked to its subject, or else who has its address. The
 * Account must have the domain verified, at every sign-in and of a linked User's address too: a User is the same in all
 * their Accounts, and only who has a domain may say who its people are. In a transaction of the system.
 */
export async function admitAdministrator(
  tx: EntityManager,
  connection: SsoConnection,
  assertion: Assertion,
  now: Date,
): Promise<{ userId: string } | { refusal: PersonRefusal }> {
  const { id: connectionId, accountId } = connection;
  const { subject } = assertion;
  const link = await tx.findOneBy(SsoLink, { accountId, connectionId, subject });
  const linked = link?.userId ? await tx.findOneBy(User, { id: link.userId }) : null;
  const email = linked?.email ?? assertedAddress(assertion.email);
  if (email === null) return { refusal: 'email_missing' };
  if (!linked && assertion.emailVerified === false) return { refusal: 'email_unverified' };
  if (!(await covers(tx, connection, email))) return { refusal: 'domain_not_verified' };

  const user = linked ?? (await userOf(tx, email));
  const userId = await settle(tx, { connection, assertion, email, user, now });
  if (userId === null) return { refusal: user ? 'not_a_member' : 'identity_unknown' };
  if (link) await tx.update(SsoLink, { id: link.id }, { lastLoginAt: now });
  else {
    const times = { createdAt: now, lastLoginAt: now };
    await tx.insert(SsoLink, { id: uuidv7(), accountId, connectionId, subject, identityId: null, userId, ...times });
  }
  return { userId };
}

async function userOf(tx: EntityManager, email: string): Promise<User | null> {
  // Row-level security keeps PostgreSQL from using the index on addresses; the function may.
  const [found] = await tx.query<{ id: string | null }[]>('select gatehouse_user_id($1) as id', [email]);
  return found?.id ? tx.findOneBy(User, { id: found.id }) : null;
}

/** Members stay what they are, who was invited becomes that, and others Viewers, if the connection provisions; else null. */
async function settle(tx: EntityManager, admitting: Admitting): Promise<string | null> {
  const { connection, email, user, now } = admitting;
  const { accountId } = connection;
  if (user && (await tx.existsBy(Membership, { accountId, userId: user.id }))) {
    if (!user.emailVerifiedAt) await saveUser(tx, user.id, { email, user, names: user, passwordHash: null, now });
    return user.id;
  }
  await lockAdministration(tx, { accountId });
  const invite = await tx.findOneBy(AdministratorInvite, { accountId, email, status: 'pending' });
  if (invite && statusOf(invite, now) === 'pending') {
    const { firstName, lastName } = invite;
    return join(tx, { invite, user, names: { firstName, lastName }, passwordHash: null, now });
  }
  return connection.jitProvisioningEnabled ? provision(tx, admitting) : null;
}

async function provision(tx: EntityManager, { connection, assertion, email, user, now }: Admitting): Promise<string> {
  const { accountId, id: connectionId } = connection;
  const userId = user?.id ?? uuidv7();
  const { firstName, lastName } = newProfile(assertion, connection);
  const names = { firstName: firstName ?? email.slice(0, email.lastIndexOf('@')), lastName: lastName ?? '' };
  await actAs({ type: 'platform_admin', id: userId }, async () => {
    await saveUser(tx, userId, { email, user, names, passwordHash: null, now });
    const { id: roleId } = await tx.findOneByOrFail(AdministratorRole, { accountId, systemKey: 'viewer' });
    const membershipId = uuidv7();
    await tx.insert(Membership, { id: membershipId, accountId, userId, createdAt: now });
    await tx.insert(MembershipRole, { membershipId, roleId, accountId, limits: null });
    await recordEvent(tx, 'member.added', {
      accountId,
      resourceId: membershipId,
      metadata: { user_id: userId, role_ids: [roleId], limits: null, connection_id: connectionId },
    });
  });
  return userId;
}
