import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoLink } from '../../../entities/sso-link.js';
import type { User } from '../../../entities/user.js';
import { actAs } from '../../platform/context.js';
import { joinAccount, saveUser } from '../administrator-invites/join.js';
import { addMember } from '../capabilities/add-member.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { isAdministrator, openInvite, recognizeAdministrator, strangerRefusal } from './administrator-recognition.js';
import { newProfile } from './profile.js';
import type { PersonRefusal } from './recognition.js';

interface AdmittedAdministrator extends Pick<User, 'emailChangedAt'> {
  userId: string;
  linkId: string;
}

interface Admitting {
  connection: SsoConnection;
  assertion: Assertion;
  email: string;
  user: User | null;
  now: Date;
}

/**
 * Lets the administrator of an assertion in (`recognizeAdministrator`), and links them to its subject. In a transaction
 * of the system.
 * @returns also when the address was changed for which the provider spoke: after another change no session begins
 */
export async function admitAdministrator(
  tx: EntityManager,
  connection: SsoConnection,
  assertion: Assertion,
  now: Date,
): Promise<AdmittedAdministrator | { refusal: PersonRefusal }> {
  const recognized = await recognizeAdministrator(tx, connection, assertion);
  if (recognized.refusal !== null) return { refusal: recognized.refusal };
  const { link, user, email } = recognized;
  const userId = await settle(tx, { connection, assertion, email, user, now });
  if (userId === null) return { refusal: strangerRefusal(user) };
  const linkId = link?.id ?? uuidv7();
  if (link) await tx.update(SsoLink, { id: linkId }, { lastLoginAt: now });
  else {
    const { id: connectionId, accountId } = connection;
    const times = { createdAt: now, lastLoginAt: now };
    const { subject } = assertion;
    await tx.insert(SsoLink, { id: linkId, accountId, connectionId, subject, identityId: null, userId, ...times });
  }
  return { userId, linkId, emailChangedAt: user?.emailChangedAt ?? null };
}

/**
 * Leaves members as they are, adds an invited person as invited, and others as Viewers if the connection provisions;
 * returns null if the person is refused.
 */
async function settle(tx: EntityManager, admitting: Admitting): Promise<string | null> {
  const { connection, email, user, now } = admitting;
  const { accountId } = connection;
  if (user && (await isAdministrator(tx, accountId, user))) {
    if (!user.emailVerifiedAt) await saveUser(tx, user.id, { email, user, names: user, passwordHash: null, now });
    return user.id;
  }
  await lockAdministration(tx, { accountId });
  const invite = await openInvite(tx, { accountId, email }, now);
  if (invite) {
    const { firstName, lastName } = invite;
    return joinAccount(tx, { invite, user, names: { firstName, lastName }, passwordHash: null, now });
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
    await addMember(tx, { accountId, userId, roleId, limits: null, now, by: { connection_id: connectionId } });
  });
  return userId;
}
