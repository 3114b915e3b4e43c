import { type FactorKind, factorKinds, type MfaPolicy } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { productionEnvironments } from '../access/assignments/production-people.js';
import { DomainError } from '../errors.js';
import { aal2, isOnlyAsserted } from '../sessions/first-factor.js';
import { createOwnProof, type OwnProofOf } from '../sessions/own-proof.js';
import type { SignedInPerson } from '../sessions/signed-in-person.js';
import type { Logins } from './logins.js';

/** The session of the request, and what its person may do with it. */
export interface ApiSession {
  amr: string[];
  acr: string;
  hasPassword: boolean;
  /** Whether the Environment accepts passwords at all. */
  takesPasswords: boolean;
  hasFactors: boolean;
  /** Whether one of the factors makes aal2. */
  hasStrongFactor: boolean;
  /** Whether a code can be mailed. */
  isVerified: boolean;
  email: string;
  /** What the person is called; the address where nothing is known. */
  name: string;
  application: string;
  allowed: FactorKind[];
  mfaPolicy: MfaPolicy;
  secondFactorAt: Date | null;
  ownFactorAt: Date | null;
  ssoConnectionId: string | null;
  /** Tolerance for codes of apps, in time steps. */
  drift: number;
  /** Whether ending one's other sessions needs a recent sign-in here. */
  endsByProof: boolean;
  /** Whether this is an Environment for tests and the person is in a production one, too. */
  isTestOfProduction: boolean;
}

const sessionStatement = {
  name: 'standing_of_api_session',
  text: `
select s.amr, s.acr, s.second_factor_at as "secondFactorAt", s.own_factor_at as "ownFactorAt",
  s.sso_connection_id as "ssoConnectionId", e.mfa_policy as "mfaPolicy", i.password_hash is not null as "hasPassword",
  e.password_login_enabled as "takesPasswords", i.email::text, i.email_verified_at is not null as "isVerified",
  coalesce(nullif(concat_ws(' ', i.first_name, i.last_name), ''), i.email::text) as name, a.name as application,
  e.mfa_allowed_factors as allowed, e.totp_drift_steps as drift, e.session_end_require_recent_sign_in as "endsByProof",
  exists (${productionEnvironments({ environment: '$2', identity: '$3' })}) as "isTestOfProduction",
  exists (select from mfa_factors f where f.account_id = $1 and f.identity_id = i.id) as "hasFactors",
  exists (select from mfa_factors f where f.account_id = $1 and f.identity_id = i.id and f.type in ('totp', 'webauthn'))
    as "hasStrongFactor"
from (select * from sessions where id = $4 offset 0) s
  cross join lateral (select * from identities where id = s.identity_id offset 0) i
  cross join lateral (select * from environment_settings where environment_id = s.environment_id offset 0) e
  cross join lateral (select name from applications where id = $5 offset 0) a
where s.account_id = $1 and s.environment_id = $2 and s.identity_id = $3 and s.revoked_at is null`,
};

/** Checks what a signed-in person has to have proved to change how they sign in. */
export function createApiOwn({ db, logins }: { db: Pick<Db, 'statement'>; logins: Pick<Logins, 'ownProof'> }) {
  /** @throws DomainError auth.invalid_credentials if the session has ended since its token was checked */
  async function sessionOf(subject: SignedInPerson): Promise<ApiSession> {
    const { accountId, environmentId, identityId, sessionId, applicationId } = subject;
    const values = [accountId, environmentId, identityId, sessionId, applicationId];
    const [found] = await db.statement<ApiSession>(sessionStatement, values);
    if (!found) throw new DomainError('auth.invalid_credentials');
    return found;
  }

  /**
   * A factor is valid in the whole Account, so even one that this Environment does not accept protects itself:
   * otherwise a password alone could remove it here, where sign-ins do not require it.
   */
  const proofOf = (subject: OwnProofOf, { acr, ssoConnectionId, ownFactorAt }: ApiSession) =>
    logins.ownProof(subject, { ...subject, acr, ssoConnectionId, ownFactorAt }, factorKinds);

  async function isRecent(subject: OwnProofOf, session: ApiSession): Promise<boolean> {
    const { hasFactors, hasStrongFactor, isVerified, amr } = session;
    // An emailed code does not make aal2, but somebody who has nothing else has to have shown it (docs/decisions/0013).
    const showsCode = amr.includes('otp') && !isOnlyAsserted(session);
    if (hasFactors && !hasStrongFactor && isVerified && !showsCode) return false;
    return (await proofOf(subject, session)).isEnough;
  }

  /**
   * For changing what one signs in with, and its name: not from a test Environment if the person is in production.
   * @throws DomainError identity.in_production
   */
  async function assertOwn(subject: SignedInPerson): Promise<ApiSession> {
    const session = await sessionOf(subject);
    if (session.isTestOfProduction) throw new DomainError('identity.in_production');
    return session;
  }

  return {
    assertOwn,

    /**
     * Asks for a sign-in of the last ten minutes, with a second factor of the person's own if they have one; and not
     * from a test Environment if they are in production, since factors belong to the Account and a passkey signs in
     * alone.
     * @throws DomainError identity.in_production, auth.reauthentication_required
     */
    async assertRecent(subject: OwnProofOf): Promise<ApiSession> {
      const session = await assertOwn(subject);
      if (!(await isRecent(subject, session))) throw new DomainError('auth.reauthentication_required');
      return session;
    },

    /**
     * Checks that a person may end another of their sessions: with a sign-in of the last ten minutes, if the
     * Environment requires that.
     * @throws DomainError auth.reauthentication_required
     */
    async assertMayEnd(subject: OwnProofOf, sessionId: string): Promise<void> {
      if (sessionId === subject.sessionId) return; // that is signing out
      const session = await sessionOf(subject);
      if (!session.endsByProof) return;
      const { acr, allowed, ssoConnectionId, ownFactorAt } = session;
      const signIn = { ...subject, acr, ssoConnectionId, ownFactorAt };
      const proven = await logins.ownProof(subject, signIn, allowed, { ...session, change: 'ending' });
      if (!proven.isEnough) throw new DomainError('auth.reauthentication_required');
    },

    /**
     * Asks for aal2, however long ago, if the person has a factor for it; for changes that are proved by the password
     * as well.
     * @throws DomainError auth.reauthentication_required
     */
    async assertStrong(subject: OwnProofOf): Promise<ApiSession> {
      const session = await sessionOf(subject);
      if (session.hasStrongFactor && session.acr !== aal2) throw new DomainError('auth.reauthentication_required');
      return session;
    },
  };
}

export type ApiOwn = ReturnType<typeof createApiOwn>;

/** `assertRecent` on a given connection, such as a transaction of the Account that the answer has to hold in. */
export const createAssertRecentOn =
  ({ now }: { now: Clock }) =>
  (subject: OwnProofOf, db: Pick<Db, 'statement'>): Promise<ApiSession> =>
    createApiOwn({ db, logins: { ownProof: createOwnProof({ db, now }) } }).assertRecent(subject);
