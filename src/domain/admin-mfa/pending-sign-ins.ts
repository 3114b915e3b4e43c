import { v7 as uuidv7 } from 'uuid';
import type { PendingUserSignIn } from '../../../entities/pending-user-sign-in.js';
import type { User } from '../../../entities/user.js';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { hashSecret, isSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';

/** Long enough to fetch a phone. */
const life = minutes(10);

/** A first factor that waits for the second one, and what the sign-in asked for. */
export type BeginUserSignIn = Pick<
  PendingUserSignIn,
  | 'userId'
  | 'method'
  | 'ssoConnectionId'
  | 'ssoSessionId'
  | 'amr'
  | 'authenticatedAt'
  | 'authTime'
  | 'passwordChangedAt'
  | 'applicationId'
> &
  Pick<User, 'emailChangedAt'>;

/** A pending sign-in that has neither expired nor been completed. The later session takes its id. */
export type OpenUserSignIn = Omit<BeginUserSignIn, 'ssoConnectionId' | 'ssoSessionId' | 'emailChangedAt'> &
  Pick<PendingUserSignIn, 'id'> & {
    /** The identity provider that checked the first factor, with its Account; null if none did. */
    provider: { connectionId: string; accountId: string; ssoSessionId: string | null } | null;
  };

/** What the session that follows checks again. */
export type LockedUserSignIn = Pick<User, 'mfaResetAt' | 'emailChangedAt'>;

type Statements = Pick<Db, 'statement'>;

export interface BegunUserSignIn {
  /** The `challenge_token`, 256 bits. */
  token: string;
  expiresAt: Date;
}

// Locks the user: a change of the address either comes before, and the sign-in is not begun, or it finds the sign-in
// and ends it.
const beginStatement = {
  name: 'begin_pending_user_sign_in',
  text: `
insert into pending_user_sign_ins (id, user_id, token_hash, method, sso_connection_id, amr, authenticated_at, password_changed_at,
  application_id, created_at, expires_at, sso_session_id, auth_time)
select $1, id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 from users
where id = $2 and email_changed_at is not distinct from $14 for share
returning id`,
};
const findStatement = {
  name: 'find_pending_user_sign_in_with_auth_time',
  text: `
select id, user_id as "userId", method, amr, authenticated_at as "authenticatedAt", auth_time as "authTime",
  password_changed_at as "passwordChangedAt", application_id as "applicationId",
  (select json_build_object('connectionId', c.id, 'accountId', c.account_id, 'ssoSessionId', p.sso_session_id)
    from sso_connections c where c.id = p.sso_connection_id) as provider
from pending_user_sign_ins p where token_hash = $1 and expires_at > $2 and completed_at is null`,
};
const setStatement = {
  name: 'set_admin_webauthn_challenge',
  text: 'update pending_user_sign_ins set webauthn_challenge = $2 where id = $1 and completed_at is null',
};
const takeStatement = {
  name: 'take_admin_webauthn_challenge',
  text: `
with open as (select id, webauthn_challenge from pending_user_sign_ins where id = $1 and webauthn_challenge is not null for update)
update pending_user_sign_ins p set webauthn_challenge = null from open where p.id = open.id
returning open.webauthn_challenge as challenge`,
};
const completeStatement = {
  name: 'complete_pending_user_sign_in',
  text: 'update pending_user_sign_ins set completed_at = $2 where id = $1',
};

// Locks the user before the sign-in, in the same order as a reset of factors.
const lockStatement = {
  name: 'lock_pending_user_sign_in',
  text: `
with person as materialized (select id, mfa_reset_at, email_changed_at from users where id = $1 for share)
select person.mfa_reset_at as "mfaResetAt", person.email_changed_at as "emailChangedAt"
from pending_user_sign_ins p join person on person.id = p.user_id
where p.id = $2 and p.completed_at is null and p.expires_at > $3
for update of p`,
};

/** Sign-ins of platform admins between their first and their second factor. */
export function createPendingUserSignIns({ db, now }: { db: Statements; now: Clock }) {
  return {
    /** @throws DomainError auth.invalid_credentials if the address was changed since the user was read */
    async begin(first: BeginUserSignIn): Promise<BegunUserSignIn> {
      const token = newSecret();
      const at = now();
      const expiresAt = after(at, life);
      const { userId, method, ssoConnectionId, ssoSessionId, amr, authenticatedAt, ...rest } = first;
      const begun = await db.statement(beginStatement, [
        uuidv7(),
        userId,
        hashSecret(token),
        method,
        ssoConnectionId,
        amr,
        authenticatedAt,
        rest.passwordChangedAt,
        rest.applicationId,
        at,
        expiresAt,
        ssoSessionId,
        rest.authTime,
        rest.emailChangedAt,
      ]);
      if (begun.length === 0) throw new DomainError('auth.invalid_credentials');
      return { token, expiresAt };
    },

    /** Returns the sign-in that a token names, or null without telling why. */
    async find(token: string): Promise<OpenUserSignIn | null> {
      if (!isSecret(token)) return null;
      const [found] = await db.statement<OpenUserSignIn>(findStatement, [hashSecret(token), now()]);
      return found ?? null;
    },

    /** Stores the WebAuthn challenge that was sent, in place of an earlier one. */
    async setChallenge(id: string, challenge: string): Promise<void> {
      await db.statement(setStatement, [id, challenge]);
    },

    /** Removes and returns the WebAuthn challenge, so that only one answer to it is accepted. Null if it is gone. */
    async takeChallenge(id: string, on: Statements): Promise<string | null> {
      const [taken] = await on.statement<{ challenge: string }>(takeStatement, [id]);
      return taken?.challenge ?? null;
    },

    /**
     * Locks the sign-in and its user until the end of a transaction: meanwhile nobody completes or ends it, resets or
     * removes a factor, or changes the password. Returns null if the sign-in was completed, ended or expired before.
     * @param on the transaction
     */
    async lock(
      { id, userId }: Pick<OpenUserSignIn, 'id' | 'userId'>,
      on: Statements,
    ): Promise<LockedUserSignIn | null> {
      const [locked] = await on.statement<LockedUserSignIn>(lockStatement, [userId, id, now()]);
      return locked ?? null;
    },

    /** Completes the sign-in. @param on the transaction that has locked it */
    async complete(id: string, on: Statements): Promise<void> {
      await on.statement(completeStatement, [id, now()]);
    },
  };
}

export type PendingUserSignIns = ReturnType<typeof createPendingUserSignIns>;
