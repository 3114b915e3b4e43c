import { v7 as uuidv7 } from 'uuid';
import type { PendingUserSignIn } from '../../../entities/pending-user-sign-in.js';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/db.js';

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
  | 'passwordChangedAt'
  | 'applicationId'
>;

/** One that goes on: not expired, not completed. Its id is the session's to be. */
export type OpenUserSignIn = Omit<BeginUserSignIn, 'ssoConnectionId' | 'ssoSessionId'> &
  Pick<PendingUserSignIn, 'id'> & {
    /** The identity provider that the first factor was proved to, if it was one, and the Account whose it is. */
    provider: { connectionId: string; accountId: string; ssoSessionId: string | null } | null;
  };

export interface BegunUserSignIn {
  /** The `challenge_token`, 256 bits. */
  token: string;
  expiresAt: Date;
}

const beginStatement = {
  name: 'begin_pending_user_sign_in',
  text: `
insert into pending_user_sign_ins (id, user_id, token_hash, method, sso_connection_id, amr, authenticated_at, password_changed_at,
  application_id, created_at, expires_at, sso_session_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
};
const findStatement = {
  name: 'find_pending_user_sign_in',
  text: `
select id, user_id as "userId", method, amr, authenticated_at as "authenticatedAt",
  password_changed_at as "passwordChangedAt", application_id as "applicationId",
  (select json_build_object('connectionId', c.id, 'accountId', c.account_id, 'ssoSessionId', p.sso_session_id) from sso_connections c where c.id = p.sso_connection_id) as provider
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
  text: `update pending_user_sign_ins set completed_at = $2 where id = $1 and completed_at is null and expires_at > $2
returning id`,
};

/** Sign-ins of platform admins between their first and their second factor. */
export function createPendingUserSignIns({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  return {
    async begin(first: BeginUserSignIn): Promise<BegunUserSignIn> {
      const token = newSecret();
      const at = now();
      const expiresAt = after(at, life);
      const { userId, method, ssoConnectionId, ssoSessionId, amr, authenticatedAt, ...rest } = first;
      await db.statement(beginStatement, [
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
      ]);
      return { token, expiresAt };
    },

    /** The one that a token names, or null: every reason is the same to a caller. */
    async find(token: string): Promise<OpenUserSignIn | null> {
      if (!/^[\w-]{43}$/.test(token)) return null;
      const [found] = await db.statement<OpenUserSignIn>(findStatement, [hashSecret(token), now()]);
      return found ?? null;
    },

    /** Remembers the WebAuthn challenge that was given out, in the place of an earlier one. */
    async setChallenge(id: string, challenge: string): Promise<void> {
      await db.statement(setStatement, [id, challenge]);
    },

    /** Takes the WebAuthn challenge, so that no answer to it is accepted twice. Null when it was taken already. */
    async takeChallenge(id: string): Promise<string | null> {
      const [taken] = await db.statement<{ challenge: string }>(takeStatement, [id]);
      return taken?.challenge ?? null;
    },

    /** Ends it, once: false for whoever comes second. */
    complete: async (id: string): Promise<boolean> => (await db.statement(completeStatement, [id, now()])).length > 0,
  };
}

export type PendingUserSignIns = ReturnType<typeof createPendingUserSignIns>;
