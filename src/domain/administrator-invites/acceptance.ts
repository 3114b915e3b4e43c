import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import type { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import { inShareOf } from '../../platform/context.js';
import { hashSecret, isSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { lockUserByAddress, userByAddress } from '../addresses/user-by-address.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { DomainError } from '../errors.js';
import { inviteStatusOf } from '../invites/times.js';
import { wasJustDone } from '../one-time/sent-twice.js';
import { type Passwords, passwordLength, passwordRequired } from '../passwords/passwords.js';
import { adminConnectionFor } from '../sso-connections/covering.js';
import { joinAccount } from './join.js';

/** The invite of a link. */
export interface OfferedInvite {
  email: string;
  firstName: string;
  lastName: string;
  accountName: string;
  locale: 'en' | 'de';
  /** The address can sign in to the Account through its identity provider, so that no password is needed. */
  ssoAvailable: boolean;
  /** What the person still has to enter: nothing, for a verified User with a password. */
  asksNames: boolean;
  asksPassword: boolean;
}

export interface Acceptance {
  token: string;
  firstName: string;
  lastName: string;
  /** Absent, or empty as the field of a form. */
  password?: string;
}

export interface InviteAcceptance {
  /** Changes nothing, so mail scanners may open the link. @throws DomainError invite.link_invalid */
  preview(token: string): Promise<OfferedInvite>;
  /**
   * Makes the recipient of the link an administrator. A new person becomes a verified User, and so does an unverified
   * User, with the names and the password given here. A verified User does not change, except for a first password,
   * which ends their sessions as every new one does.
   * @throws DomainError invite.link_invalid, password.breached, password.context_specific, validation.failed
   */
  accept(acceptance: Acceptance): Promise<{ accountName: string }>;
  /** Returns the Account if this link was accepted within the last minute: its form was sent twice. Else null. */
  justAccepted(token: string): Promise<{ accountName: string } | null>;
}

export interface InviteAcceptanceDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'assertAcceptable'>;
  now: Clock;
}

/** The link in the mail to a person who was invited to an Account (spec, `POST /v1/auth/accept-invite`). */
export function createInviteAcceptance({ db, passwords, now }: InviteAcceptanceDeps): InviteAcceptance {
  const find = (token: string) =>
    db.transaction('system', async (tx) => {
      const invite = await pendingOf(tx, token, now());
      const account = await tx.findOneByOrFail(Account, { id: invite.accountId });
      const user = await userByAddress(tx, invite.email);
      return { invite, account, ...(await needsOf(tx, user, invite)) };
    });

  async function accept({ token, password, ...names }: Acceptance): Promise<{ accountName: string }> {
    const { invite: looked, account, asksPassword, ssoAvailable } = await find(token);
    let passwordHash: string | null = null;
    // Checked and hashed before the transaction: both are slow, and the first one asks another service.
    if (asksPassword && password) {
      const { email, firstName, lastName } = looked;
      const context = [email, firstName, lastName, names.firstName, names.lastName, account.name];
      await passwords.assertAcceptable(password, { minLength: passwordLength.min, context, field: 'password' });
      passwordHash = await passwords.hash(password);
    }
    if (asksPassword && passwordHash === null && !ssoAvailable) throw passwordRequired();

    await db.transaction('system', async (tx) => {
      await lockAdministration(tx, { accountId: account.id });
      const invite = await pendingOf(tx, token, now());
      const user = await lockUserByAddress(tx, invite.email);
      const needs = await needsOf(tx, user, invite);
      if (needs.asksPassword && passwordHash === null && !needs.ssoAvailable) throw passwordRequired();
      await joinAccount(tx, { invite, user, names, passwordHash, now: now() });
    });
    return { accountName: account.name };
  }

  return {
    async preview(token) {
      const { invite, account, ...needs } = await find(token);
      const { email, firstName, lastName, locale } = invite;
      return { email, firstName, lastName, locale, accountName: account.name, ...needs };
    },
    accept: (acceptance) =>
      accept(acceptance).catch((error: unknown) => {
        // Another transaction has just created a User with this address; a second run handles that.
        if (violates(error, 'users_email')) return accept(acceptance);
        throw error;
      }),
    justAccepted: (token) =>
      db.transaction('system', async (tx) => {
        const invite = await inviteOf(tx, token);
        if (invite?.status !== 'accepted' || !wasJustDone(invite.endedAt, now())) return null;
        const account = await tx.findOneBy(Account, { id: invite.accountId });
        return account && { accountName: account.name };
      }),
  };
}

/** Returns the invite with this token, if there is one; from here on the request works for its Account. */
async function inviteOf(tx: EntityManager, token: string): Promise<AdministratorInvite | null> {
  const invite = isSecret(token) ? await tx.findOneBy(AdministratorInvite, { tokenHash: hashSecret(token) }) : null;
  if (invite) inShareOf(invite.accountId);
  return invite;
}

/** @throws DomainError invite.link_invalid, whatever the reason why the token does not work */
async function pendingOf(tx: EntityManager, token: string, now: Date): Promise<AdministratorInvite> {
  const invite = await inviteOf(tx, token);
  if (!invite || inviteStatusOf(invite, now) !== 'pending') throw new DomainError('invite.link_invalid');
  return invite;
}

async function needsOf(tx: EntityManager, user: User | null, { accountId, email }: AdministratorInvite) {
  const asksNames = !user?.emailVerifiedAt;
  return {
    ssoAvailable: (await adminConnectionFor(tx, { accountId }, email)) !== null,
    asksNames,
    asksPassword: asksNames || user.passwordHash === null,
  };
}
