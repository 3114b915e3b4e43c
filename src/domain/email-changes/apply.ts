import type { EntityManager } from 'typeorm';
import { EmailChange } from '../../../entities/email-change.js';
import type { Clock } from '../../platform/clock.js';
import { userByAddress } from '../addresses/user-by-address.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { lockForPassword } from '../passwords/administrator-password.js';
import { discardWaiting, lockAddress } from '../registration/rivals.js';
import { endAdministratorAccess } from '../sessions/end-administrator-access.js';
import { ended, notifyEnded } from './end.js';
import { findEmailChange, type UsableEmailChange } from './link.js';
import { emailChangedMail } from './process.js';

/**
 * Gives a user the new address of a change, which its mailbox has confirmed. What the old mailbox could still do ends
 * with it: links for passwords, sign-ins that wait for a second factor, and all sessions except the one that requested
 * the change.
 * @throws DomainError email_change.link_invalid; email_change.address_taken, and the change goes on waiting
 */
export async function applyEmailChange(
  tx: EntityManager,
  { id, userId, email }: Pick<UsableEmailChange, 'id' | 'userId' | 'email'>,
  clock: Clock,
): Promise<void> {
  await lockAddress(tx, email); // before the user is locked, as by everybody who becomes the user of an address
  const user = await lockForPassword(tx, userId);
  const now = clock(); // under the lock, so that no sign-in that waits for it was proved later
  const change = await findEmailChange(tx, ['id', id], now); // again, under the lock: it works once
  if (!user || !change) throw new DomainError('email_change.link_invalid');
  if (await userByAddress(tx, email)) throw new DomainError('email_change.address_taken');
  await discardWaiting(tx, email, { userId, now });
  await tx.query(
    'update users set email = $2, email_verified_at = $3, email_changed_at = $3, updated_at = $3 where id = $1',
    [userId, email, now],
  );
  await tx.query(
    'update password_links set expires_at = $2 where user_id = $1 and used_at is null and expires_at > $2',
    [userId, now],
  );
  const revoked = await endAdministratorAccess(tx, { userId, keepSessionId: change.sessionId, now });
  await tx.update(EmailChange, { id }, { ...ended('confirmed', null, now), formerEmail: user.email });
  await notifyEnded(tx, change);
  await recordOfUser(tx, 'auth.admin_email_changed', {
    resourceId: userId,
    metadata: { email_change_id: id, revoked_session_ids: revoked },
    actor: { type: 'platform_admin', id: userId },
  });
  await queueEmail(tx, emailChangedMail(change), now);
}
