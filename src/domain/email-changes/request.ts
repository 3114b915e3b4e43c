import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { EmailChange } from '../../../entities/email-change.js';
import { after, hours } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { noticeAdmin } from '../admin-mfa/mails.js';
import type { SignedInAdmin } from '../admin-mfa/signed-in-admin.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { startLater } from '../outbox.js';
import { withdrawPending } from './end.js';
import { emailChangeToken } from './link.js';
import { emailChangeInput, emailChangeMail } from './process.js';

/** How long a new address can be confirmed. */
export const emailChangeLife = hours(24);

export interface NewEmailChange {
  admin: SignedInAdmin;
  email: string;
  browserHash: Buffer;
  locale: 'en' | 'de';
  now: Date;
}

const looked = `select email = $2::citext as "isOwn", gatehouse_user_id($2) is not null as "isTaken" from users where id = $1`;

/**
 * Stores the new address of a user until it is confirmed, in place of an earlier one, mails its link, and tells the
 * present address. It does the same whether or not somebody else signs in with the new address, except for the text of
 * the mail. The caller has locked the user.
 * @throws DomainError email_change.unchanged
 */
export async function storeEmailChange(
  tx: EntityManager,
  sealing: Pick<Sealing, 'derive'>,
  { admin: { userId, sessionId }, email, browserHash, locale, now }: NewEmailChange,
): Promise<void> {
  const [seen] = await tx.query<{ isOwn: boolean; isTaken: boolean }[]>(looked, [userId, email]);
  if (seen?.isOwn) throw new DomainError('email_change.unchanged');
  await withdrawPending(tx, userId, { reason: 'replaced', now });
  const id = uuidv7();
  const { token, keyId } = emailChangeToken(sealing, { id });
  const change: EmailChange = {
    ...{ id, userId, sessionId, email, formerEmail: null, locale, browserHash, attempts: 0 },
    tokenHash: hashSecret(token),
    tokenKeyId: keyId,
    status: 'pending',
    endedReason: null,
    createdAt: now,
    expiresAt: after(now, emailChangeLife),
    endedAt: null,
  };
  await tx.insert(EmailChange, change);
  await queueEmail(tx, emailChangeMail(change, seen?.isTaken === true), now);
  await startLater(tx, 'emailChange', emailChangeInput(change));
  const metadata = { email_change_id: id };
  const eventId = await recordOfUser(tx, 'auth.admin_email_change_requested', { resourceId: userId, metadata });
  await noticeAdmin(tx, { userId, eventId, locale, now });
}
