import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { type Acr, aal2, authTimeOf } from '../sessions/first-factor.js';
import { proofLife } from '../sessions/own-proof.js';
import { leavesAccountsOut } from './other-sign-in.js';
import type { SignedInAdmin } from './signed-in-admin.js';

/** A session that was looked at, with what is asked about its user on the way. */
export interface ProvenSession {
  email: string;
  firstName: string;
  lastName: string;
  amr: string[];
  acr: Acr;
  authenticatedAt: Date;
  /** When it was proved, where that was to an identity provider. */
  authTime: Date | null;
  hasFactor: boolean;
  /** Whether it began at an identity provider, and none of the user's own factors was shown. */
  isProvidersWord: boolean;
  /** Whether it says nothing to one of the user's Accounts. */
  leavesAccountsOut: boolean;
}

const statement = {
  name: 'proof_of_admin_session_with_auth_time',
  text: `
select u.email::text, u.first_name as "firstName", u.last_name as "lastName", s.amr, s.acr, s.authenticated_at as "authenticatedAt",
  s.auth_time as "authTime",
  exists (select from user_mfa_factors f where f.user_id = u.id) as "hasFactor",
  s.sso_connection_id is not null and not exists (
    select from pending_user_sign_ins p where p.id = s.id and p.completed_at is not null) as "isProvidersWord",
  ${leavesAccountsOut('s')} as "leavesAccountsOut"
from user_sessions s join users u on u.id = s.user_id
where s.id = $1 and s.user_id = $2 and s.revoked_at is null and s.expires_at > $3`,
};

/**
 * Whether a session is a recent and strong enough proof to change second factors: a sign-in of the last ten minutes, with a
 * second factor where there is one; of a provider's people it is when that asked them (`authTimeOf`). So a stolen password adds none beside the owner's; and neither does one Account's identity
 * provider, which may well say that it has asked for two: the factors guard all Accounts of the user, and those who have none yet are
 * given none in a session that leaves one out.
 */
export function createProof({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  const check = (session: ProvenSession | undefined): ProvenSession => {
    if (!session) throw new DomainError('auth.invalid_credentials');
    const isFresh = now().getTime() < authTimeOf(session).getTime() + proofLife;
    const isOwn = session.acr === aal2 && !session.isProvidersWord;
    if (!isFresh || (session.hasFactor && !isOwn)) {
      throw new DomainError('auth.reauthentication_required');
    }
    return session;
  };
  const checkForFactors = (session: ProvenSession | undefined): ProvenSession => {
    if (session?.isProvidersWord && session.leavesAccountsOut && !session.hasFactor)
      throw new DomainError('account.other_sign_in_required');
    return check(session);
  };

  async function held(tx: EntityManager, { sessionId, userId }: SignedInAdmin): Promise<ProvenSession | undefined> {
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
     * The same under a lock on the user, for the change itself: a factor that came meanwhile is one to be shown.
     * @throws DomainError account.other_sign_in_required, auth.reauthentication_required, auth.invalid_credentials
     */
    hold: async (tx: EntityManager, admin: SignedInAdmin): Promise<ProvenSession> =>
      checkForFactors(await held(tx, admin)),

    /**
     * Under the lock as well, for what is as grave and leaves the factors alone: whose Accounts it is about, its caller knows.
     * @throws DomainError auth.reauthentication_required, auth.invalid_credentials
     */
    holdRecent: async (tx: EntityManager, admin: SignedInAdmin): Promise<ProvenSession> => check(await held(tx, admin)),
  };
}

export type AdminProof = ReturnType<typeof createProof>;
