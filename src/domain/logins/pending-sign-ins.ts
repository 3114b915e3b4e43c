import { v7 as uuidv7 } from 'uuid';
import type { PendingSignIn } from '../../../entities/pending-sign-in.js';
import { after, type Clock, minutes } from '../../platform/clock.js';
import { hashSecret, isSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { environmentExists } from '../existing-environment.js';
import type { Client } from '../oidc/clients/clients.js';
import { asProved } from '../sessions/as-proved.js';
import type { Acr, FirstFactor } from '../sessions/first-factor.js';
import { emailedCodeLife } from './emailed-codes.js';

/** Long enough to fetch a phone and a mail, to install an authenticator or to write recovery codes down. */
export const pendingSignInLife = { challenge: minutes(10), enrollment: minutes(30) } as const;

export interface BeginPending {
  client: Pick<Client, 'id' | 'accountId' | 'environmentId'>;
  channel: PendingSignIn['channel'];
  purpose: PendingSignIn['purpose'];
  first: FirstFactor;
  /** Whether an enrolled factor was proved already, but not one that is enough. */
  hasProvedFactor?: boolean;
  requiresAal2: boolean;
  /** The authorization request that continues afterwards. */
  parameters: Record<string, string>;
}

export interface Begun {
  /** The `challenge_token` or `enrollment_token`, 256 bits. */
  token: string;
  expiresAt: Date;
  /** The person's address; null if no sign-in begins. */
  email: string | null;
}

/** A sign-in that is neither expired nor completed, and whose person is still active in the Environment. */
export type OpenSignIn = Pick<
  PendingSignIn,
  | 'id'
  | 'accountId'
  | 'environmentId'
  | 'oauthClientId'
  | 'identityId'
  | 'channel'
  | 'purpose'
  | 'method'
  | 'amr'
  | 'authenticatedAt'
  | 'authTime'
  | 'secondFactorAt'
  | 'ownFactorAt'
  | 'ssoConnectionId'
  | 'ssoSessionId'
  | 'hasProvedFactor'
  | 'requiresAal2'
  | 'parameters'
  | 'webauthnChallenge'
  | 'expiresAt'
> & {
  acr: Acr;
  applicationId: string;
  /** The person's address, and when their password was set: what changes either, and ends sessions, ends this, too. */
  email: string;
  passwordChangedAt: Date | null;
  isVerified: boolean;
};

/** A sign-in that is over before its time: it was completed, or ended by somebody. */
export type OverSignIn = Pick<PendingSignIn, 'environmentId' | 'identityId' | 'authenticatedAt' | 'parameters'>;

type SignInToLock = Pick<OpenSignIn, 'id' | 'accountId' | 'identityId'>;

/** What the sign-in has proved so far, for the gate. */
export const provedIn = ({
  identityId,
  method,
  amr,
  acr,
  authenticatedAt,
  authTime,
  secondFactorAt,
  ownFactorAt,
  ssoConnectionId,
  ssoSessionId,
  passwordChangedAt,
  email,
}: Pick<OpenSignIn, keyof FirstFactor>): FirstFactor => ({
  identityId,
  method,
  amr,
  acr,
  authenticatedAt,
  authTime,
  secondFactorAt,
  ownFactorAt,
  ssoConnectionId,
  ssoSessionId,
  passwordChangedAt,
  email,
});

/**
 * A new password, or another address, locks the Identity and ends the sign-ins of the old one: either it finds this
 * sign-in, or it is found here and none begins. A session that outlived the change is exempt, and may still become
 * stronger.
 */
const beginStatement = {
  name: 'begin_pending_sign_in',
  text: `
insert into pending_sign_ins (id, account_id, environment_id, oauth_client_id, identity_id, token_hash, channel, purpose, method,
  amr, authenticated_at, requires_aal2, parameters, created_at, expires_at, acr, second_factor_at, has_proved_factor, sso_connection_id,
  sso_session_id, auth_time, own_factor_at)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22
from (select ${asProved({ isTimeKnown: '$23', passwordChangedAt: '$24', provedAt: '$11', amr: '$10', email: '$25' })} as unchanged
  from identities where account_id = $2 and id = $5 for share) person
where unchanged or $9 = 'session'
returning (select email::text from identities where account_id = $2 and id = $5) as email`,
};
const findStatement = {
  name: 'find_pending_sign_in',
  text: `
select p.id, p.account_id as "accountId", p.environment_id as "environmentId", p.oauth_client_id as "oauthClientId",
  p.identity_id as "identityId", p.channel, p.purpose, p.method, p.amr, p.authenticated_at as "authenticatedAt", p.auth_time as "authTime",
  p.acr, p.second_factor_at as "secondFactorAt", p.own_factor_at as "ownFactorAt", p.sso_connection_id as "ssoConnectionId",
  p.sso_session_id as "ssoSessionId", p.has_proved_factor as "hasProvedFactor", p.requires_aal2 as "requiresAal2", p.parameters,
  p.webauthn_challenge as "webauthnChallenge", p.expires_at as "expiresAt",
  e.application_id as "applicationId", i.email::text, i.email_verified_at is not null as "isVerified",
  date_trunc('milliseconds', i.password_changed_at) as "passwordChangedAt"
from pending_sign_ins p
  cross join lateral (select is_active from environment_memberships
    where environment_id = p.environment_id and identity_id = p.identity_id offset 0) m
  cross join lateral (select email, email_verified_at, password_changed_at from identities where id = p.identity_id offset 0) i
  cross join lateral (select application_id from environments where id = p.environment_id offset 0) e
where p.token_hash = $1 and p.channel = $2 and p.expires_at > $3 and p.completed_at is null and m.is_active
  and exists (select from oauth_clients where id = p.oauth_client_id) and ${environmentExists('p')}`,
};

const findOverStatement = {
  name: 'find_pending_sign_in_over',
  text: `
select environment_id as "environmentId", identity_id as "identityId", authenticated_at as "authenticatedAt", parameters
from pending_sign_ins
where token_hash = $1 and channel = $2 and expires_at > $3 and completed_at is not null`,
};

// Locks the person before the sign-in, as everything does that ends a person's sign-ins.
const lockStatement = {
  name: 'lock_pending_sign_in',
  text: `
with person as materialized (select id from identities where (account_id = $1) is true and id = $2 for share)
select p.id from pending_sign_ins p join person on person.id = p.identity_id
where p.id = $3 and p.completed_at is null and p.expires_at > $4
for update of p`,
};

const prolongStatement = {
  name: 'prolong_pending_sign_in',
  text: `
update pending_sign_ins set expires_at = greatest(expires_at, $2)
where id = $1 and completed_at is null and created_at > $3
returning expires_at as "expiresAt"`,
};

const setChallengeStatement = {
  name: 'set_webauthn_challenge',
  text: 'update pending_sign_ins set webauthn_challenge = $2 where id = $1 and completed_at is null',
};
const takeChallengeStatement = {
  name: 'take_webauthn_challenge',
  text: `
with open as (select id, webauthn_challenge from pending_sign_ins where id = $1 and webauthn_challenge is not null for update)
update pending_sign_ins p set webauthn_challenge = null from open where p.id = open.id
returning open.webauthn_challenge as challenge`,
};

const completeStatement = {
  name: 'complete_pending_sign_in',
  text: `
update pending_sign_ins set completed_at = $2 where id = $1 and completed_at is null and expires_at > $2
returning id`,
};

/** Sign-ins between their first and their second factor. A caller can only change the one that their token names. */
export function createPendingSignIns({ db, now }: { db: Db; now: Clock }) {
  return {
    async begin({
      client,
      channel,
      purpose,
      first,
      hasProvedFactor = false,
      requiresAal2,
      parameters,
    }: BeginPending): Promise<Begun> {
      const token = newSecret();
      const at = now();
      const expiresAt = after(at, pendingSignInLife[purpose]);
      const [begun] = await db.statement<{ email: string }>(beginStatement, [
        uuidv7(),
        client.accountId,
        client.environmentId,
        client.id,
        first.identityId,
        hashSecret(token),
        channel,
        purpose,
        first.method,
        first.amr,
        first.authenticatedAt,
        requiresAal2,
        parameters,
        at,
        expiresAt,
        first.acr,
        first.secondFactorAt,
        hasProvedFactor,
        first.ssoConnectionId ?? null,
        first.ssoSessionId ?? null,
        first.authTime ?? null,
        first.ownFactorAt,
        first.passwordChangedAt !== undefined,
        first.passwordChangedAt ?? null,
        first.email ?? null,
      ]);
      return { token, expiresAt, email: begun?.email ?? null };
    },

    /** The sign-in that a token names; null for every reason why not. */
    async find(token: string, channel: PendingSignIn['channel']): Promise<OpenSignIn | null> {
      if (!isSecret(token)) return null;
      const [found] = await db.statement<OpenSignIn>(findStatement, [hashSecret(token), channel, now()]);
      return found ?? null;
    },

    /** The sign-in that a token names, if it is over: to tell its browser so. It proves nothing. */
    async findOver(token: string, channel: PendingSignIn['channel']): Promise<OverSignIn | null> {
      if (!isSecret(token)) return null;
      const [found] = await db.statement<OverSignIn>(findOverStatement, [hashSecret(token), channel, now()]);
      return found ?? null;
    },

    /**
     * Extends a sign-in until an emailed code that is sent now expires.
     * @returns when it expires now; null if it began longer ago than an enrollment may take: then no code is to be
     *   mailed
     */
    async prolong({ id }: Pick<OpenSignIn, 'id'>): Promise<Date | null> {
      const at = now();
      const [until, begunAfter] = [after(at, emailedCodeLife), after(at, -pendingSignInLife.enrollment)];
      const [found] = await db.statement<Pick<OpenSignIn, 'expiresAt'>>(prolongStatement, [id, until, begunAfter]);
      return found?.expiresAt ?? null;
    },

    /** Stores the WebAuthn challenge that was sent, in place of an earlier one. */
    async setWebauthnChallenge(id: string, challenge: string): Promise<void> {
      await db.statement(setChallengeStatement, [id, challenge]);
    },

    /** Removes and returns the WebAuthn challenge, so that only one answer to it is accepted. Null if it is gone. */
    async takeWebauthnChallenge(id: string, on: Pick<Db, 'statement'> = db): Promise<string | null> {
      const [taken] = await on.statement<{ challenge: string }>(takeChallengeStatement, [id]);
      return taken?.challenge ?? null;
    },

    /**
     * Locks the sign-in and its person until the end of a transaction: meanwhile nobody completes or ends it, resets or
     * removes a factor, or changes the password. False if one of these was faster.
     * @param on the transaction, of the system
     */
    async lock({ id, accountId, identityId }: SignInToLock, on: Pick<Db, 'statement'>): Promise<boolean> {
      return (await on.statement(lockStatement, [accountId, identityId, id, now()])).length > 0;
    },

    /** Completes it, once; false if it was completed or had ended before. */
    async complete(id: string, on: Pick<Db, 'statement'> = db): Promise<boolean> {
      return (await on.statement(completeStatement, [id, now()])).length > 0;
    },
  };
}

export type PendingSignIns = ReturnType<typeof createPendingSignIns>;
