import type { EntityManager } from 'typeorm';
import type { EmailChange } from '../../../entities/email-change.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { leavesAccountsOut } from '../admin-mfa/other-sign-in.js';
import { maxLinkTries } from '../one-time/link-proof.js';

/** The one-time token of a change's link. It is derived, so it is stored nowhere (docs/decisions/0004). */
export function emailChangeToken(
  sealing: Pick<Sealing, 'derive'>,
  { id, tokenKeyId }: { id: string; tokenKeyId?: string },
): { token: string; keyId: string } {
  const { secret, keyId } = sealing.derive('email-change-link', id, tokenKeyId);
  return { token: secret.toString('base64url'), keyId };
}

/** @param baseUrl origin of the service */
export const emailChangeLink = (baseUrl: string, token: string): string =>
  `${baseUrl}/v1/auth/email/confirm?token=${token}`;

/** A change that can be confirmed. */
export interface UsableEmailChange
  extends Pick<
    EmailChange,
    'id' | 'userId' | 'sessionId' | 'locale' | 'tokenKeyId' | 'browserHash' | 'createdAt' | 'expiresAt'
  > {
  email: string;
  /** Of the user's present password. */
  passwordHash: string | null;
}

// The end of its session makes a change void, and so does a new password, also one that the session itself has set:
// what somebody requested who is shut out by that is worth nothing. So does an Account in which the session has no say.
// Nothing has to be written for that, so no race can leave one valid.
const usable = `
select c.id, c.user_id as "userId", c.session_id as "sessionId", c.email::text, c.locale, c.token_key_id as "tokenKeyId",
  c.browser_hash as "browserHash", c.created_at as "createdAt", c.expires_at as "expiresAt", u.password_hash as "passwordHash"
from email_changes c join users u on u.id = c.user_id join user_sessions s on s.id = c.session_id and s.user_id = c.user_id
where c.status = 'pending' and c.expires_at > $2 and c.attempts < ${maxLinkTries}
  and s.revoked_at is null and s.expires_at > $2
  and (u.password_changed_at is null or u.password_changed_at <= c.created_at) and not ${leavesAccountsOut('s')}`;

const by = (column: 'id' | 'token_hash' | 'user_id') => `${usable} and c.${column} = $1`;

/** Finds the change with this id, the hash of its token, or its user, as long as it can be confirmed. */
export async function findEmailChange(
  tx: EntityManager,
  [column, value]: ['id' | 'token_hash' | 'user_id', string | Buffer],
  now: Date,
): Promise<UsableEmailChange | null> {
  const [found] = await tx.query<UsableEmailChange[]>(by(column), [value, now]);
  return found ?? null;
}
