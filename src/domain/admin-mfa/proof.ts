import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { type Acr, aal2 } from '../sessions/first-factor.js';
import { proofLife } from '../sessions/own-proof.js';

/** Who changes their own factors, and in which session. */
export interface SignedInAdmin {
  userId: string;
  sessionId: string;
  /** That the session is bound to, if it is: whose audit log tells of it. */
  accountId: string | null;
}

/** A session that was looked at, with what is asked about its user on the way. */
export interface ProvenSession {
  email: string;
  firstName: string;
  lastName: string;
  amr: string[];
  acr: Acr;
  authenticatedAt: Date;
  hasFactor: boolean;
}

const statement = {
  name: 'proof_of_admin_session',
  text: `
select u.email::text, u.first_name as "firstName", u.last_name as "lastName", s.amr, s.acr, s.authenticated_at as "authenticatedAt",
  exists (select from user_mfa_factors f where f.user_id = u.id) as "hasFactor"
from user_sessions s join users u on u.id = s.user_id
where s.id = $1 and s.user_id = $2 and s.revoked_at is null and s.expires_at > $3`,
};

/**
 * Whether a session is a recent and strong enough proof to change second factors: a sign-in of the last ten minutes, with a
 * second factor where there is one. So a stolen password adds none beside the owner's.
 */
export function createProof({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  const check = (session: ProvenSession | undefined): ProvenSession => {
    if (!session) throw new DomainError('auth.invalid_credentials');
    const isFresh = now().getTime() < session.authenticatedAt.getTime() + proofLife;
    if (!isFresh || (session.hasFactor && session.acr !== aal2)) {
      throw new DomainError('auth.reauthentication_required');
    }
    return session;
  };

  return {
    /** @throws DomainError auth.reauthentication_required, auth.invalid_credentials */
    async require({ sessionId, userId }: SignedInAdmin): Promise<ProvenSession> {
      const [session] = await db.statement<ProvenSession>(statement, [sessionId, userId, now()]);
      return check(session);
    },

    /**
     * The same under a lock on the user, for the change itself: a factor that came meanwhile is one to be shown.
     * @throws DomainError auth.reauthentication_required, auth.invalid_credentials
     */
    async hold(tx: EntityManager, { sessionId, userId }: SignedInAdmin): Promise<ProvenSession> {
      await tx.query('select from users where id = $1 for update', [userId]);
      const [session] = await tx.query<ProvenSession[]>(statement.text, [sessionId, userId, now()]);
      return check(session);
    },
  };
}

export type Proof = ReturnType<typeof createProof>;
