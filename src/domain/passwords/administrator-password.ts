import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { User } from '../../../entities/user.js';
import { queueEmail } from '../emails/queue.js';
import type { EventAction } from '../events/catalogue.js';
import { recordOfUser } from '../events/user-events.js';
import { keysOfUsers, withdrawPasskeys } from '../mfa/webauthn/keys.js';
import { endAdministratorAccess } from '../sessions/end-administrator-access.js';

export interface NewAdministratorPassword {
  userId: string;
  passwordHash: string;
  locale: 'en' | 'de';
  /** The session that continues; all others end. */
  keepSessionId?: string;
  /** Whether the person has proved the address in doing so. */
  provesEmail: boolean;
  action: Extract<EventAction, `auth.password_${string}`>;
  now: Date;
}

/**
 * Locks an administrator before their password is changed. A sign-in that is about to start its session takes the same
 * lock (`users/user-sessions.ts`), so that either its session exists and is ended, or it sees the change and starts none.
 */
export async function lockForPassword(tx: EntityManager, userId: string): Promise<User | null> {
  return tx.findOne(User, { where: { id: userId }, lock: { mode: 'pessimistic_write' } });
}

/**
 * Sets the password of an administrator, ends their sessions and the sign-ins that wait for a second factor, makes their
 * keys second factors until they are used after it, and mails them. The caller has locked them by `lockForPassword`.
 */
export async function writePassword(tx: EntityManager, change: NewAdministratorPassword): Promise<void> {
  const { userId, passwordHash, locale, keepSessionId = null, provesEmail, action, now } = change;
  await tx.query(
    `update users set password_hash = $2, password_changed_at = $3, updated_at = $3,
       email_verified_at = case when $4 then coalesce(email_verified_at, $3) else email_verified_at end
     where id = $1`,
    [userId, passwordHash, now, provesEmail],
  );
  await withdrawPasskeys(tx, keysOfUsers, userId);
  const revoked = await endAdministratorAccess(tx, { userId, keepSessionId, now });
  await recordOfUser(tx, action, {
    resourceId: userId,
    metadata: { revoked_session_ids: revoked },
    actor: { type: 'platform_admin', id: userId },
  });
  const cause = `password-changed/${uuidv7()}`; // one mail for each change
  await queueEmail(tx, { template: 'password-changed', locale, subjectId: userId, cause }, now);
}
