import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { IdentityLink, type IdentityLinkPurpose } from '../../../entities/identity-link.js';
import { after, hours } from '../../platform/clock.js';
import { inShareOf } from '../../platform/context.js';
import { hashSecret, isSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Client } from '../oidc/clients/clients.js';
import { maxLinkTries } from './link-proof.js';
import { sentTwiceWithin } from './sent-twice.js';

/** How long a mailed link of an end user works. */
export const identityLinkLife: Record<IdentityLinkPurpose, number> = {
  verify_email: hours(24),
  known_address: hours(24),
  reset_password: hours(1),
};

/** The client to whose authorization request a link leads back. */
export type LinkClient = Pick<Client, 'id' | 'accountId' | 'applicationId' | 'environmentId'>;

/**
 * Returns the one-time token of a link. It is derived, so that it is stored nowhere and the mail can be written later
 * (docs/decisions/0004).
 */
export function identityLinkToken(
  sealing: Pick<Sealing, 'derive'>,
  { id, tokenKeyId }: { id: string; tokenKeyId?: string },
): { token: string; keyId: string } {
  const { secret, keyId } = sealing.derive('identity-link', id, tokenKeyId);
  return { token: secret.toString('base64url'), keyId };
}

const paths = { verify_email: '/oauth/verify-email', reset_password: '/oauth/password/reset' } as const;

/** @param baseUrl origin of the service */
export const identityLinkUrl = (baseUrl: string, purpose: keyof typeof paths, token: string): string =>
  `${baseUrl}${paths[purpose]}?token=${token}`;

export type NewIdentityLink = Pick<IdentityLink, 'identityId' | 'purpose' | 'locale' | 'parameters'> &
  Partial<Pick<IdentityLink, 'browserHash' | 'passwordHash' | 'firstName' | 'lastName' | 'joins'>>;

/** Stores a link. @returns its id, which the mail is about */
export async function insertIdentityLink(
  tx: EntityManager,
  sealing: Pick<Sealing, 'derive'>,
  { accountId, environmentId, id: oauthClientId }: LinkClient,
  { now, parameters, ...link }: NewIdentityLink & { now: Date },
): Promise<string> {
  const id = uuidv7();
  // Hints name people, and a link is stored for a month; the row itself names the Identity.
  const { login_hint: _, id_token_hint: __, ...kept } = parameters;
  const { token, keyId } = identityLinkToken(sealing, { id });
  await tx.insert(IdentityLink, {
    browserHash: null,
    passwordHash: null,
    firstName: null,
    lastName: null,
    joins: false,
    ...link,
    parameters: link.identityId === null ? {} : kept,
    id,
    accountId,
    environmentId,
    oauthClientId,
    tokenHash: hashSecret(token),
    tokenKeyId: keyId,
    attempts: 0,
    createdAt: now,
    expiresAt: after(now, identityLinkLife[link.purpose]),
    usedAt: null,
  });
  return id;
}

/**
 * A link is also `used` if something else has made it void: a newer link exists, its purpose was achieved in another
 * way, the Environment no longer accepts passwords or sign-ups, or it has deactivated the person who would confirm the
 * address.
 */
export type LinkStatus = 'open' | 'used' | 'expired';

/** A link with its person, client and Environment, as they are now. */
export interface FoundLink {
  id: string;
  purpose: IdentityLinkPurpose;
  accountId: string;
  applicationId: string;
  environmentId: string;
  oauthClientId: string;
  /** The client's public id. */
  clientId: string;
  identityId: string;
  locale: IdentityLink['locale'];
  tokenKeyId: string;
  parameters: Record<string, string>;
  browserHash: Buffer | null;
  /** Of the password chosen at sign-up. */
  passwordHash: string | null;
  joins: boolean;
  expiresAt: Date;
  /** When it was used; null also for a link that something else has made void. */
  usedAt: Date | null;
  email: string;
  /** From the link, or else from the Identity. */
  firstName: string | null;
  lastName: string | null;
  isVerified: boolean;
  /** The Identity's own. */
  currentPasswordHash: string | null;
  /** Null if the Identity is not a member of the Environment. */
  isActive: boolean | null;
  membershipId: string | null;
  status: LinkStatus;
}

// Links become void by conditions alone, so that no race can leave one valid. Ids are UUIDv7, which order links of one
// millisecond.
const columns = `
select l.id, l.purpose, l.account_id as "accountId", e.application_id as "applicationId", l.environment_id as "environmentId",
  l.oauth_client_id as "oauthClientId", c.client_id as "clientId", l.identity_id as "identityId", l.locale,
  l.token_key_id as "tokenKeyId", l.parameters, l.browser_hash as "browserHash", l.password_hash as "passwordHash", l.joins,
  l.expires_at as "expiresAt", l.used_at as "usedAt", i.email::text, coalesce(l.first_name, i.first_name) as "firstName",
  coalesce(l.last_name, i.last_name) as "lastName", i.email_verified_at is not null as "isVerified",
  i.password_hash as "currentPasswordHash", m.is_active as "isActive", m.id as "membershipId",
  case
    when l.used_at is not null then 'used'
    when l.purpose = 'verify_email' and i.email_verified_at is not null and not (l.joins and m.id is null) then 'used'
    when l.purpose = 'verify_email' and not m.is_active then 'used'
    when l.joins and m.id is null and not exists (
      select from environment_settings s where s.environment_id = l.environment_id and s.allow_self_signup) then 'used'
    when l.purpose = 'reset_password' and (i.password_changed_at > l.created_at or exists (
      select from identity_links newer where newer.identity_id = l.identity_id and newer.purpose = 'reset_password'
        and (newer.created_at, newer.id) > (l.created_at, l.id)) or not exists (
      select from environment_settings s where s.environment_id = l.environment_id and s.password_login_enabled)) then 'used'
    when l.expires_at <= $2 or l.attempts >= ${maxLinkTries} then 'expired'
    else 'open'
  end as status
from identity_links l
  join identities i on i.id = l.identity_id
  join environments e on e.id = l.environment_id and e.account_id = l.account_id
  join oauth_clients c on c.id = l.oauth_client_id
  left join environment_memberships m on m.environment_id = l.environment_id and m.identity_id = l.identity_id`;

/**
 * Returns the link with this token; null if there never was one, or its person, client or Environment was deleted. From
 * here on the request works for the link's Account.
 */
export async function findIdentityLink(
  tx: EntityManager,
  purpose: keyof typeof paths,
  token: string,
  now: Date,
): Promise<FoundLink | null> {
  // Our tokens are 256 bits in base64url; anything else is not looked up.
  if (!isSecret(token)) return null;
  const text = `${columns} where l.token_hash = $1 and l.purpose = $3`;
  const [found] = await tx.query<FoundLink[]>(text, [hashSecret(token), now, purpose]);
  if (found) inShareOf(found.accountId);
  return found ?? null;
}

/** Returns a link by its id, whatever its purpose. */
export async function readIdentityLink(tx: EntityManager, id: string, now: Date): Promise<FoundLink | null> {
  const [found] = await tx.query<FoundLink[]>(`${columns} where l.id = $1`, [id, now]);
  return found ?? null;
}

/**
 * Returns whether a person can set a password with the link. A deactivated person cannot: the password would be for the
 * Account's other Environments.
 */
export const letsChoosePassword = (link: FoundLink | null): link is FoundLink =>
  link?.status === 'open' && link.isActive === true;

/**
 * Invalidates a person's unused links, in one Environment or in all. They are marked as used before their creation, so
 * that no form counts as the one that used them. In a transaction that has locked the Identity's row.
 */
export const voidIdentityLinks = (tx: EntityManager, identityId: string, environmentId: string | null = null) =>
  tx.query(
    `update identity_links set used_at = created_at - interval '1 second' * $3
     where identity_id = $1 and used_at is null and ($2::uuid is null or environment_id = $2)`,
    [identityId, environmentId, sentTwiceWithin / 1000],
  );

/**
 * Returns where the person continues: at the client's own start of a sign-in, since a link is mostly opened in another
 * browser, whose `state` the client does not know; if it has none, in the original authorization request; null if there
 * was none. The URL of a link that does not work names nobody: the reader of its mailbox may not know the person's
 * present address.
 */
export function returnUrlOf(
  { parameters, email, status }: Pick<FoundLink, 'parameters' | 'email' | 'status'>,
  initiateLogin: InitiateLogin,
): string | null {
  if (Object.keys(parameters).length === 0) return null;
  const begun = initiateLogin(status === 'open' ? email : null);
  if (begun) return begun;
  const query = new URLSearchParams(parameters);
  if (status === 'open') query.set('login_hint', email);
  return `/oauth/authorize?${query}`;
}

/** Returns the URL at which the client starts a sign-in itself, with the hint; null if it has registered none. */
export type InitiateLogin = (loginHint: string | null) => string | null;

/** Where a person continues who has just used the link, even if their form came twice: the use proves who they are. */
export const returnUrlAfterUse = (
  link: Pick<FoundLink, 'parameters' | 'email'>,
  initiateLogin: InitiateLogin,
): string | null => returnUrlOf({ ...link, status: 'open' }, initiateLogin);
