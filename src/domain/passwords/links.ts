import type { EntityManager } from 'typeorm';
import { PasswordLink } from '../../../entities/password-link.js';
import { after, hours } from '../../platform/clock.js';
import { hashSecret, isSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { UsedLink } from './just-set.js';

/** How long a link to set a password works (contract §4). */
const passwordLinkLife = hours(1);

/**
 * The one-time token of a link. It is derived, so that it is stored nowhere and the mail can be written later
 * (docs/decisions/0004).
 */
export function passwordLinkToken(
  sealing: Pick<Sealing, 'derive'>,
  { id, tokenKeyId }: { id: string; tokenKeyId?: string },
): { token: string; keyId: string } {
  const { secret, keyId } = sealing.derive('password-link', id, tokenKeyId);
  return { token: secret.toString('base64url'), keyId };
}

/** @param baseUrl origin of the service */
export const passwordLinkUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/v1/auth/password/reset?token=${token}`;

/** Stores a link, which makes the user's older ones void. Safe to repeat with the same id. */
export async function insertPasswordLink(
  tx: EntityManager,
  sealing: Pick<Sealing, 'derive'>,
  { now, ...link }: Pick<PasswordLink, 'id' | 'userId' | 'purpose' | 'locale'> & { now: Date },
): Promise<void> {
  const { token, keyId } = passwordLinkToken(sealing, link);
  await tx
    .createQueryBuilder()
    .insert()
    .into(PasswordLink)
    .values({
      ...link,
      tokenHash: hashSecret(token),
      tokenKeyId: keyId,
      createdAt: now,
      expiresAt: after(now, passwordLinkLife),
      usedAt: null,
    })
    .orIgnore()
    .updateEntity(false)
    .execute();
}

export interface UsablePasswordLink {
  id: string;
  userId: string;
  purpose: PasswordLink['purpose'];
  locale: PasswordLink['locale'];
  tokenKeyId: string;
  expiresAt: Date;
  email: string;
  firstName: string;
}

// Older links become void because a newer one exists, and all of them by a later change of the password: nothing has to
// be written for that, so no race can leave one valid. Ids are UUIDv7, which order links of one millisecond.
const usable = `
select l.id, l.user_id as "userId", l.purpose, l.locale, l.token_key_id as "tokenKeyId", l.expires_at as "expiresAt",
  u.email::text, u.first_name as "firstName"
from password_links l join users u on u.id = l.user_id
where l.used_at is null and l.expires_at > $2 and (u.password_changed_at is null or u.password_changed_at <= l.created_at)
  and not exists (select from password_links newer
    where newer.user_id = l.user_id and (newer.created_at, newer.id) > (l.created_at, l.id))`;

/** The link with this token, as long as it works. */
export async function findPasswordLink(
  tx: EntityManager,
  token: string,
  now: Date,
): Promise<UsablePasswordLink | null> {
  // Our tokens are 256 bits in base64url; anything else is not looked up.
  if (!isSecret(token)) return null;
  const rows = await tx.query<UsablePasswordLink[]>(`${usable} and l.token_hash = $1`, [hashSecret(token), now]);
  return rows[0] ?? null;
}

/** The link with this token, once it has set a password. */
export async function findUsedPasswordLink(tx: EntityManager, token: string): Promise<UsedLink | null> {
  if (!isSecret(token)) return null;
  const [used] = await tx.query<UsedLink[]>(
    `select l.used_at as "usedAt", u.password_hash as "passwordHash" from password_links l join users u on u.id = l.user_id
where l.token_hash = $1 and l.used_at is not null`,
    [hashSecret(token)],
  );
  return used ?? null;
}

/** A valid link by its id, for the mail. */
export async function readPasswordLink(tx: EntityManager, id: string, now: Date): Promise<UsablePasswordLink | null> {
  const rows = await tx.query<UsablePasswordLink[]>(`${usable} and l.id = $1`, [id, now]);
  return rows[0] ?? null;
}
