import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { IdentityInvite, IdentityInviteIntent } from '../../../entities/identity-invite.js';
import { OAuthClient } from '../../../entities/oauth-client.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { retryWhenRemoved } from '../access/assignments/concurrent-removal.js';
import { applicationOf } from '../application-of.js';
import { applicationNameOf } from '../emails/brand.js';
import { siteOf } from '../oidc/clients/redirect-uris.js';
import { type Passwords, passwordRequired } from '../passwords/passwords.js';
import { verifyTyped } from '../passwords/verify-typed.js';
import { contentsOf, type InviteContents } from './contents.js';
import { findPending, invitedOf, inviteOf, justAcceptedOf, needsOf, pendingOf } from './find.js';
import { lockOrganizations } from './invited-organizations.js';
import { joinEnvironment } from './join.js';

/** What the link of an invite offers. */
export interface OfferedIdentityInvite extends Omit<InviteContents, 'settings'> {
  environmentId: string;
  intent: IdentityInviteIntent;
  email: string;
  /** As given by the inviter. */
  firstName: string | null;
  lastName: string | null;
  locale: 'en' | 'de';
  /** What the person still has to enter: nothing if they have an Identity with this address, proved as theirs. */
  asksNames: boolean;
  asksPassword: boolean;
  /** Where they continue after acceptance: the site of the oldest client that has one; null if none has. */
  siteUrl: string | null;
  settings: Pick<EnvironmentSettings, 'branding' | 'defaultLocale' | 'passwordMinLength'>;
}

export interface IdentityAcceptance {
  token: string;
  /** Replace the names in the invite; used only if the person has not proved this address yet. */
  firstName?: string | undefined;
  lastName?: string | undefined;
  password?: string | undefined;
}

export interface IdentityInviteAcceptance {
  /** Changes nothing, so mail scanners may open the link. @throws DomainError invite.link_invalid */
  preview(token: string): Promise<OfferedIdentityInvite>;
  /**
   * Lets the owner of the address in, once. A new person becomes an Identity with a proved address. So does an
   * unverified Identity, whose earlier password and sessions end. A verified Identity does not change.
   * @throws DomainError invite.link_invalid, password.breached, password.context_specific, validation.failed
   */
  accept(acceptance: IdentityAcceptance): Promise<OfferedIdentityInvite>;
  /**
   * Returns what was accepted through this link within the last minute, for a form that was sent twice. Changes
   * nothing. Returns null for any other link, and if the password that was set is not the one sent now.
   */
  justAccepted(token: string, password: string | undefined): Promise<OfferedIdentityInvite | null>;
  /** Returns what the link of an invite that has ended was for; null for a link of no invite. */
  over(token: string): Promise<PastIdentityInvite | null>;
  /** Returns the pages whose scripts may use the link, those of the Environment's clients; null if the link is void. */
  pagesOf(token: string): Promise<ScriptPages | null>;
}

/** What the holder of the link sees of an invite that has ended. */
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

/** Handles the link in the mail to somebody who was invited as an end user (contract §4). */
export function createIdentityInviteAcceptance({
  db,
  passwords,
  now,
}: IdentityInviteAcceptanceDeps): IdentityInviteAcceptance {
  async function offeredBy(tx: EntityManager, invite: IdentityInvite) {
    const contents = await contentsOf(tx, invite);
    const needs = needsOf(await invitedOf(tx, invite), contents.settings);
    const { environmentId, intent, email, firstName, lastName, locale } = invite;
    const siteUrl = intent === 'directory' ? null : await siteOfEnvironment(tx, invite);
    return { ...contents, ...needs, environmentId, siteUrl, intent, email, firstName, lastName, locale };
  }
  const look = (token: string) =>
    db.transaction('system', async (tx) => {
      const invite = await pendingOf(tx, token, now());
      return { invite, offered: await offeredBy(tx, invite) };
    });

  async function accept({ token, password, ...names }: IdentityAcceptance): Promise<OfferedIdentityInvite> {
    const { invite, offered } = await look(token);
    let passwordHash: string | null = null;
    // Before the transaction: check and hash are slow, and the check calls another service.
    if (offered.asksPassword && password) {
      await passwords.assertAcceptable(password, { ...ruleOf(offered, names), field: 'password' });
      passwordHash = await passwords.hash(password);
    }
    if (offered.asksPassword && passwordHash === null) throw passwordRequired();
    // In the Account's scope: the person has one password there, and sessions in any of its Environments.
    await db.transaction({ accountId: invite.accountId }, async (tx) => {
      await lockInOrder(tx, invite);
      await tx.query('select from identity_invites where id = $1 for update', [invite.id]);
      const pending = await pendingOf(tx, token, now()); // again, under the lock: it works once
      const invited = await invitedOf(tx, pending);
      if (needsOf(invited, offered.settings).asksPassword && passwordHash === null) throw passwordRequired();
      const scope = await scopeOf(tx, pending);
      await joinEnvironment(tx, { invite: pending, invited, scope, names, passwordHash, now: now() });
    });
    return offered;
  }

  return {
    preview: async (token) => (await look(token)).offered,
    // A retry leaves out a role or node that was deleted meanwhile. Deadlocks are possible, as a change of a directory
    // locks the directory before the person.
    accept(acceptance) {
      const attempt = () => retryingDeadlocks(() => retryWhenRemoved(() => accept(acceptance)));
      return attempt().catch((error: unknown) => {
        // Another request has just created the Identity or membership; the next attempt finds it.
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
        const invite = await findPending(tx, token, now());
        if (!invite) return null;
        const { accountId, environmentId } = invite;
        const { settings } = await contentsOf(tx, invite);
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
    take: maxClientsLookedAt,
  });
  return clients.map(({ redirectUris }) => siteOf(redirectUris)).find((site) => site !== null) ?? null;
}
const maxClientsLookedAt = 20;

const races = ['identities_email', 'environment_memberships_one_per_identity'];

/** Returns the Environment of an invite as a scope. */
async function scopeOf(
  tx: EntityManager,
  { accountId, environmentId }: Pick<IdentityInvite, 'accountId' | 'environmentId'>,
): Promise<EnvironmentScope> {
  return { accountId, environmentId, applicationId: (await applicationOf(tx, environmentId)) as string };
}

/** Locks the person and the organization before the invite, in the order in which a removal of either locks them. */
async function lockInOrder(tx: EntityManager, { accountId, email, organizationId }: IdentityInvite): Promise<void> {
  const person = 'select from identities where id = (select gatehouse_identity_id($1, $2::citext)) for update';
  await tx.query(person, [accountId, email]);
  await lockOrganizations(tx, [organizationId]);
}

/** Returns the rules for the password; its context has the names of the invite and those that the person entered. */
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
