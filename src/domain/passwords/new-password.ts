import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../../platform/context.js';
import type { EnvironmentScope } from '../../platform/db.js';
import { localeOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import { recordEvent } from '../events.js';
import { distrustDevices } from '../mfa/trusted-devices.js';

/** Whose password it is, in the Environment where it was changed. */
export interface PasswordOwner extends EnvironmentScope {
  identityId: string;
  /** Their membership in that Environment, in whose name they are told. */
  membershipId: string | null;
}

export interface NewPassword {
  /** Null: the one before works no more, and there is none until the person has chosen another. */
  passwordHash: string | null;
  /** How it was changed, for the event. */
  method: string;
  /** Whether the person has proved the address in doing so. */
  provesEmail: boolean;
  /** The session in which it was changed, which goes on with its grants; all others end. */
  keepSessionId?: string | null;
  /** Whose doing it is; without one, the person's own. */
  by?: Actor;
  now: Date;
}

/**
 * Writes a new password down, ends every session, grant and half-done sign-in of the Identity in the whole Account, and tells
 * the owner of the address. In the caller's transaction, of the Account, that holds the Identity's row.
 */
export async function settleNewPassword(
  tx: EntityManager,
  { accountId, applicationId, environmentId, identityId, membershipId }: PasswordOwner,
  { passwordHash, method, provesEmail, keepSessionId = null, by, now }: NewPassword,
): Promise<void> {
  const scope = { accountId, applicationId, environmentId };
  const actor = by ?? { type: 'identity', id: identityId };
  const [[before] = []] = await tx.query<[{ isVerified: boolean }[], number]>(
    `with before as (select email_verified_at from identities where account_id = $1 and id = $2)
     update identities set password_hash = $3, password_changed_at = $4, updated_at = $4,
       email_verified_at = case when $5 then coalesce(identities.email_verified_at, $4) else identities.email_verified_at end
     from before where account_id = $1 and id = $2 returning before.email_verified_at is not null as "isVerified"`,
    [accountId, identityId, passwordHash, now, provesEmail],
  );
  const [sessions] = await tx.query<[{ id: string }[], number]>(
    'update sessions set revoked_at = $2 where identity_id = $1 and revoked_at is null and id is distinct from $3 returning id',
    [identityId, now, keepSessionId],
  );
  await tx.query(
    `update grants set revoked_at = $2, revoked_reason = 'password_changed'
     where identity_id = $1 and revoked_at is null and session_id is distinct from $3`,
    [identityId, now, keepSessionId],
  );
  await distrustDevices(tx, { accountId }, identityId);
  // A second factor would otherwise go on from the old password.
  await tx.query('update pending_sign_ins set completed_at = $2 where identity_id = $1 and completed_at is null', [
    identityId,
    now,
  ]);
  const revoked = { revoked_session_ids: sessions.map(({ id }) => id) };
  const event = { ...scope, resourceId: identityId, actor };
  await recordEvent(tx, 'identity.password_changed', { ...event, metadata: { method, ...revoked } });
  if (provesEmail && before?.isVerified === false)
    await recordEvent(tx, 'identity.email_verified', { ...event, metadata: { method } });
  if (membershipId === null) return;
  // As other notices (`mfa/notices.ts`): whoever changed it has no say in which language the owner is told.
  const locale = await localeOf(tx, scope);
  const mail = { template: 'identity-password-changed', locale, subjectId: membershipId } as const;
  const cause = `identity-password-changed/${uuidv7()}`; // one mail for each change
  await queueEmail(tx, { ...mail, cause, accountId, environmentId }, now);
}
