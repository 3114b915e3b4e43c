import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import type { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret, isSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { lockAdministration } from '../capabilities/roles-authority.js';
import { DomainError } from '../errors.js';
import { inviteStatusOf } from '../invites/times.js';
import { type Passwords, passwordLength, passwordRequired } from '../passwords/passwords.js';
import { wasJustDone } from '../sent-twice.js';
import { adminConnectionFor } from '../sso-connections/covering.js';
import { userByAddress } from '../user-by-address.js';
import { joinAccount } from './join.js';

/** What the link of an invite stands for. */
export interface OfferedInvite {
  email: string;
  firstName: string;
  lastName: string;
  accountName: string;
  locale: 'en' | 'de';
  /** The Account lets the address in through its identity provider, so that no password is needed. */
  ssoAvailable: boolean;
  /** What is missing of the person: nothing, for a verified User with a password. */
  asksNames: boolean;
  asksPassword: boolean;
}

export interface Acceptance {
  token: string;
  firstName: string;
  lastName: string;
  /** None, or an empty one, as the field of a form has it. */
  password?: string;
}

export interface InviteAcceptance {
  /** Looking changes nothing, so mail scanners may. @throws DomainError invite.link_invalid */
  preview(token: string): Promise<OfferedInvite>;
  /**
   * Makes whom the link was sent to an administrator. A new person becomes a verified User, and so does an unverified User
   * with the names and the password given here. A verified User stays as they are, but for a first password, which ends their
   * sessions as every new one does.
   * @throws DomainError invite.link_invalid, password.breached, password.context_specific, validation.failed
   */
  accept(acceptance: Acceptance): Promise<{ accountName: string }>;
  /** Whose invite was accepted by this link within the last minute: its form has been sent twice. Nothing is done. Null for any other. */
  justAccepted(token: string): Promise<{ accountName: string } | null>;
}

export interface InviteAcceptanceDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'assertAcceptable'>;
  now: Clock;
}

/** The link in the mail to somebody who was invited to an Account (spec, `POST /v1/auth/accept-invite`). */
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
      const user = await userByAddress(tx, invite.email);
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
        // Somebody else made a User of the address at this moment; looking again tells the rest.
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

const inviteOf = async (tx: EntityManager, token: string): Promise<AdministratorInvite | null> =>
  isSecret(token) ? tx.findOneBy(AdministratorInvite, { tokenHash: hashSecret(token) }) : null;

/** @throws DomainError invite.link_invalid, alike for every token that does not work */
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
