import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { IdentityInvite, IdentityInviteIntent } from '../../../entities/identity-invite.js';
import { OAuthClient } from '../../../entities/oauth-client.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import { retryWhenRemoved } from '../access/concurrent-removal.js';
import { applicationNameOf } from '../emails/brand.js';
import { siteOf } from '../oidc/redirect-uris.js';
import { type Passwords, passwordRequired } from '../passwords/passwords.js';
import { verifyTyped } from '../passwords/verify-typed.js';
import { keepOrganizations, scopeOf } from './events.js';
import { joinEnvironment } from './join.js';
import { invitedOf, inviteOf, justAcceptedOf, needsOf, pendingOf, type Told, toldOf } from './standing.js';

/** What the link of an invite stands for. */
export interface OfferedIdentityInvite extends Omit<Told, 'settings'> {
  environmentId: string;
  intent: IdentityInviteIntent;
  email: string;
  /** As whoever invites has them. */
  firstName: string | null;
  lastName: string | null;
  locale: 'en' | 'de';
  /** What is missing of the person: nothing, for one who has a sign-in with this address. */
  asksNames: boolean;
  asksPassword: boolean;
  /** Where they go on once they are in: the site of the oldest client that has one. Null: nowhere yet. */
  siteUrl: string | null;
  settings: Pick<EnvironmentSettings, 'branding' | 'defaultLocale' | 'passwordMinLength'>;
}

export interface IdentityAcceptance {
  token: string;
  /** Instead of those in the invite; looked at where the person has no sign-in yet. */
  firstName?: string | undefined;
  lastName?: string | undefined;
  password?: string | undefined;
}

export interface IdentityInviteAcceptance {
  /** Looking changes nothing, so mail scanners may. @throws DomainError invite.link_invalid */
  preview(token: string): Promise<OfferedIdentityInvite>;
  /**
   * Lets whom the link was sent to in, once. A new person becomes an Identity whose address is proved, and so does an
   * unverified one, whose password and sessions of before end. Of a verified one, nothing changes.
   * @throws DomainError invite.link_invalid, password.breached, password.context_specific, validation.failed
   */
  accept(acceptance: IdentityAcceptance): Promise<OfferedIdentityInvite>;
  /**
   * What was accepted by this link within the last minute: its form has been sent twice. Nothing is done. Null for any other, and where
   * another password was set than the one that is sent now.
   */
  justAccepted(token: string, password: string | undefined): Promise<OfferedIdentityInvite | null>;
  /** What the link of an invite that is over was for. Null for a link that never was one. */
  over(token: string): Promise<PastIdentityInvite | null>;
  /** From where scripts may use the link of an invite: the pages of the Environment's clients. Null: the link is void. */
  pagesOf(token: string): Promise<ScriptPages | null>;
}

/** An invite that is over, to whoever has its link. */
export type PastIdentityInvite = Pick<OfferedIdentityInvite, 'applicationName' | 'locale' | 'siteUrl' | 'settings'> & {
  isAccepted: boolean;
};

export interface ScriptPages {
  settings: Pick<EnvironmentSettings, 'allowedOrigins'>;
  clientType: 'public';
  redirectUris: string[];
}

export interface IdentityInviteAcceptanceDeps {
  db: Db;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  now: Clock;
}

/** The link in the mail to somebody who was invited to be an end user (contract §4). */
export function createIdentityInviteAcceptance({
  db,
  passwords,
  now,
}: IdentityInviteAcceptanceDeps): IdentityInviteAcceptance {
  async function offeredBy(tx: EntityManager, invite: IdentityInvite) {
    const told = await toldOf(tx, invite);
    const needs = needsOf(await invitedOf(tx, invite), told.settings);
    const { environmentId, intent, email, firstName, lastName, locale } = invite;
    const siteUrl = intent === 'directory' ? null : await siteOfEnvironment(tx, invite);
    return { ...told, ...needs, environmentId, siteUrl, intent, email, firstName, lastName, locale };
  }
  const look = (token: string) =>
    db.transaction('system', async (tx) => {
      const invite = await pendingOf(tx, token, now());
      return { invite, offered: await offeredBy(tx, invite) };
    });

  async function accept({ token, password, ...names }: IdentityAcceptance): Promise<OfferedIdentityInvite> {
    const { invite, offered } = await look(token);
    let passwordHash: string | null = null;
    // Checked and hashed before the transaction: both are slow, and the first one asks another service.
    if (offered.asksPassword && password) {
      await passwords.assertAcceptable(password, { ...ruleOf(offered, names), field: 'password' });
      passwordHash = await passwords.hash(password);
    }
    if (offered.asksPassword && passwordHash === null) throw passwordRequired();
    // Of the Account: the person has one password there, and sessions in any of its Environments.
    await db.transaction({ accountId: invite.accountId }, async (tx) => {
      await keepInOrder(tx, invite);
      await tx.query('select from identity_invites where id = $1 for update', [invite.id]);
      const pending = await pendingOf(tx, token, now()); // as it is under the lock: it works once
      const invited = await invitedOf(tx, pending);
      if (needsOf(invited, offered.settings).asksPassword && passwordHash === null) throw passwordRequired();
      const scope = await scopeOf(tx, pending);
      await joinEnvironment(tx, { invite: pending, invited, scope, names, passwordHash, now: now() });
    });
    return offered;
  }

  return {
    preview: async (token) => (await look(token)).offered,
    // A role or node that goes meanwhile is left out, as if it had gone before. A directory that is changed at the moment holds itself before the person.
    accept(acceptance) {
      const attempt = () => retryingDeadlocks(() => retryWhenRemoved(() => accept(acceptance)));
      return attempt().catch((error: unknown) => {
        // Somebody else was faster with the address; looking again tells the rest.
        if (races.some((constraint) => violates(error, constraint))) return attempt();
        throw error;
      });
    },
    async justAccepted(token, password) {
      const found = await db.transaction('system', async (tx) => {
        const invite = await justAcceptedOf(tx, token, now());
        if (!invite) return null;
        const { identity } = await invitedOf(tx, invite);
        return { offered: await offeredBy(tx, invite), passwordHash: identity?.passwordHash ?? null };
      });
      if (!found) return null;
      const isOther = password !== undefined && !(await verifyTyped(passwords, found.passwordHash, password));
      return isOther ? null : found.offered;
    },
    over: (token) =>
      db.transaction('system', async (tx) => {
        const invite = await inviteOf(tx, token);
        if (!invite) return null;
        const settings = await tx.findOneByOrFail(EnvironmentSettings, { environmentId: invite.environmentId });
        const isAccepted = invite.status === 'accepted';
        const applicationName = await applicationNameOf(tx, invite.environmentId);
        const isOfClients = isAccepted && invite.intent !== 'directory';
        const siteUrl = isOfClients ? await siteOfEnvironment(tx, invite) : null;
        return { applicationName, locale: invite.locale, settings, isAccepted, siteUrl };
      }),
    pagesOf: (token) =>
      db.transaction('system', async (tx) => {
        const invite = await pendingOf(tx, token, now()).catch(() => null);
        if (!invite) return null;
        const { accountId, environmentId } = invite;
        const { settings } = await toldOf(tx, invite);
        const clients = await tx.findBy(OAuthClient, { accountId, environmentId, clientType: 'public' });
        return { settings, clientType: 'public', redirectUris: clients.flatMap(({ redirectUris }) => redirectUris) };
      }),
  };
}

async function siteOfEnvironment(
  tx: EntityManager,
  { accountId, environmentId }: IdentityInvite,
): Promise<string | null> {
  const clients = await tx.find(OAuthClient, {
    select: { redirectUris: true },
    where: { accountId, environmentId },
    order: { createdAt: 'ASC', id: 'ASC' },
    take: mostClientsLookedAt,
  });
  return clients.map(({ redirectUris }) => siteOf(redirectUris)).find((site) => site !== null) ?? null;
}
const mostClientsLookedAt = 20;

const races = ['identities_email', 'environment_memberships_one_per_identity'];

/** The person and the organization before the invite, as who removes one of them takes the locks. */
async function keepInOrder(tx: EntityManager, { accountId, email, organizationId }: IdentityInvite): Promise<void> {
  const person = 'select from identities where id = (select gatehouse_identity_id($1, $2::citext)) for update';
  await tx.query(person, [accountId, email]);
  await keepOrganizations(tx, [organizationId]);
}

/** What the password has to be, whose names may be those of the invite or others. */
const ruleOf = (
  { email, firstName, lastName, accountName, applicationName, organizationName, settings }: OfferedIdentityInvite,
  names: Pick<IdentityAcceptance, 'firstName' | 'lastName'>,
) => ({
  minLength: settings.passwordMinLength,
  context: [
    email,
    firstName,
    lastName,
    names.firstName,
    names.lastName,
    accountName,
    applicationName,
    organizationName,
    settings.branding.name,
  ],
});
