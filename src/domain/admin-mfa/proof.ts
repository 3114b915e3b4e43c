import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { type Acr, aal2, authTimeOf } from '../sessions/first-factor.js';
import { proofLife } from '../sessions/own-proof.js';
import { leavesAccountsOut } from './other-sign-in.js';
import type { SignedInAdmin } from './signed-in-admin.js';

/** A session that was checked, with what the callers need of its user. */
export interface ProvenSession {
  email: string;
  firstName: string;
  lastName: string;
  amr: string[];
  acr: Acr;
  authenticatedAt: Date;
  /** When the identity provider authenticated the person; null if the sign-in was not at one. */
  authTime: Date | null;
  hasFactor: boolean;
  /** Whether it began at an identity provider. */
  isProviders: boolean;
  /** Whether it began at an identity provider and the user showed none of their own factors. */
  isOnlyAsserted: boolean;
  /** Whether it gives no access to one of the user's Accounts. */
  leavesAccountsOut: boolean;
}

const statement = {
  name: 'proof_of_admin_session_with_provider',
  text: `
select u.email::text, u.first_name as "firstName", u.last_name as "lastName", s.amr, s.acr, s.authenticated_at as "authenticatedAt",
  s.auth_time as "authTime",
  exists (select from user_mfa_factors f where f.user_id = u.id) as "hasFactor",
  s.sso_connection_id is not null as "isProviders", s.sso_connection_id is not null and not exists (
    select from pending_user_sign_ins p where p.id = s.id and p.completed_at is not null) as "isOnlyAsserted",
  ${leavesAccountsOut('s')} as "leavesAccountsOut"
from user_sessions s join users u on u.id = s.user_id
where s.id = $1 and s.user_id = $2 and s.revoked_at is null and s.expires_at > $3`,
};

/**
 * Checks whether a session is a recent and strong enough proof to change second factors: a sign-in of the last ten
 * minutes (at an identity provider, the time when it authenticated the person: `authTimeOf`), with a second factor if
 * the user has one. So nobody can add a factor to the owner's with a stolen password, nor through one Account's
 * identity provider, whatever number of factors it asserts: the factors protect all Accounts of the user. A user
 * without factors enrolls none in a session that gives no access to one of their Accounts.
 */
export function createProof({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  const check = (session: ProvenSession | undefined): ProvenSession => {
    if (!session) throw new DomainError('auth.invalid_credentials');
    const isFresh = now().getTime() < authTimeOf(session).getTime() + proofLife;
    const isOwn = session.acr === aal2 && !session.isOnlyAsserted;
    if (!isFresh || (session.hasFactor && !isOwn)) {
      throw new DomainError('auth.reauthentication_required');
    }
    return session;
  };
  const checkForFactors = (session: ProvenSession | undefined): ProvenSession => {
    if (session?.isOnlyAsserted && session.leavesAccountsOut && !session.hasFactor)
      throw new DomainError('account.other_sign_in_required');
    return check(session);
  };

  async function lockSession(
    tx: EntityManager,
    { sessionId, userId }: SignedInAdmin,
  ): Promise<ProvenSession | undefined> {
    await tx.query('select from users where id = $1 for update', [userId]);
    const [session] = await tx.query<ProvenSession[]>(statement.text, [sessionId, userId, now()]);
    return session;
  }

  return {
    /** @throws DomainError account.other_sign_in_required, auth.reauthentication_required, auth.invalid_credentials */
    async require({ sessionId, userId }: SignedInAdmin): Promise<ProvenSession> {
      const [session] = await db.statement<ProvenSession>(statement, [sessionId, userId, now()]);
      return checkForFactors(session);
    },

    /**
     * Checks what `require` does under a lock on the user, for the change itself: a factor added meanwhile has to be
     * shown, too.
     * @throws DomainError account.other_sign_in_required, auth.reauthentication_required, auth.invalid_credentials
     */
    lock: async (tx: EntityManager, admin: SignedInAdmin): Promise<ProvenSession> =>
      checkForFactors(await lockSession(tx, admin)),

    /**
     * Checks under the same lock, for equally grave changes that are not about factors. The Accounts concerned are the
     * caller's to check.
     * @throws DomainError auth.reauthentication_required, auth.invalid_credentials
     */
    lockRecent: async (tx: EntityManager, admin: SignedInAdmin): Promise<ProvenSession> =>
      check(await lockSession(tx, admin)),
  };
}

export type AdminProof = ReturnType<typeof createProof>;
