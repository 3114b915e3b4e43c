import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { DomainError } from '../errors.js';
import { givingBack } from '../limits/rate-limits.js';
import { withSecondFactor } from '../mfa/assurance.js';
import type { Enrollment, FactorSummary, NewFactor } from '../mfa/factors.js';
import type { Acr } from '../sessions/first-factor.js';
import type { OwnProofOf } from '../sessions/own-proof.js';
import type { SignedInPerson } from '../sessions/signed-in-person.js';
import type { ApiOwn, ApiSession } from './api-own.js';
import type { Logins } from './logins.js';

export interface FactorsSummary {
  factors: FactorSummary[];
  generation: number;
  remaining: number;
  adminResetAt: Date | null;
}

export interface ApiFactorsDeps {
  db: Db;
  own: ApiOwn;
  logins: Pick<Logins, 'factors' | 'totp' | 'ownWebauthn' | 'ownSessions' | 'recoveryCodes'>;
  now: Clock;
}

const resetStatement = {
  name: 'mfa_admin_reset_of_identity',
  text: 'select mfa_admin_reset_at as "adminResetAt" from identities where account_id = $1 and id = $2',
};

/** The second factors of the signed-in person: one set for all Environments of the Account. */
export function createApiFactors({ db, own, logins, now }: ApiFactorsDeps) {
  const { factors, totp, ownWebauthn, ownSessions, recoveryCodes } = logins;

  /** Adds a factor that was just proved; the first one also makes the session stronger. */
  async function add(
    subject: OwnProofOf,
    { amr, acr, hasFactors }: ApiSession,
    { factor, proved }: { factor: NewFactor; proved: readonly string[] },
  ): Promise<Enrollment> {
    const added = await factors.enroll(subject, factor);
    if (!hasFactors) {
      const kind = factor.type;
      const stronger = withSecondFactor({ amr, acr: acr as Acr }, { kind, amr: proved, counts: true, now: now() });
      await ownSessions.strengthen(subject, subject.sessionId, stronger);
    }
    return added;
  }

  function assertAllowed({ allowed }: ApiSession, kind: NewFactor['type']) {
    if (!allowed.includes(kind)) throw new DomainError('mfa.factor_not_allowed');
  }

  return {
    async summary({ accountId, identityId }: SignedInPerson): Promise<FactorsSummary> {
      const [list, codes, [reset]] = await Promise.all([
        factors.list({ accountId }, identityId),
        recoveryCodes.remaining({ accountId }, identityId),
        db.statement<{ adminResetAt: Date | null }>(resetStatement, [accountId, identityId]),
      ]);
      return { factors: list, ...codes, adminResetAt: reset?.adminResetAt ?? null };
    },

    /** @throws DomainError mfa.factor_not_allowed, auth.reauthentication_required, identity.in_production */
    async beginTotp(subject: OwnProofOf) {
      const session = await own.assertRecent(subject);
      assertAllowed(session, 'totp');
      return totp.beginEnrollment(subject, { identityId: subject.identityId, email: session.email });
    },

    /**
     * @param sealed what `beginTotp` gave out
     * @throws DomainError mfa.enrollment_expired, mfa.code_invalid, mfa.factor_not_allowed, mfa.already_enrolled,
     * mfa.too_many_factors, auth.reauthentication_required, identity.in_production
     */
    async confirmTotp(subject: OwnProofOf, { sealed, code }: { sealed: string; code: string }): Promise<Enrollment> {
      const session = await own.assertRecent(subject);
      const factor = totp.confirmEnrollment(subject.identityId, { sealed, code, drift: session.drift });
      return add(subject, session, { factor, proved: ['otp'] });
    },

    /** @throws DomainError mfa.factor_not_allowed, auth.reauthentication_required, identity.in_production */
    async beginWebauthn(subject: OwnProofOf) {
      const session = await own.assertRecent(subject);
      assertAllowed(session, 'webauthn');
      const { accountId, identityId, sessionId } = subject;
      const { email, name, application: relyingParty } = session;
      return ownWebauthn.begin(sessionId, { accountId, identityId, email, name, relyingParty });
    },

    /** @throws DomainError as `confirmTotp` */
    async confirmWebauthn(
      subject: OwnProofOf,
      answer: { token: string; sent: unknown; label: string | null },
    ): Promise<Enrollment> {
      const session = await own.assertRecent(subject);
      const begun = { sessionId: subject.sessionId, ...answer };
      const { factor, amr } = await ownWebauthn.verify(begun);
      return givingBack(
        () => add(subject, session, { factor, proved: amr }),
        () => ownWebauthn.giveBack(begun),
      );
    },

    /** @throws DomainError mfa.factor_not_found, identity.in_production */
    async rename(subject: OwnProofOf, factorId: string, label: string): Promise<FactorSummary> {
      await own.assertOwn(subject);
      return factors.rename(subject, factorId, label);
    },

    /**
     * @throws DomainError mfa.factor_not_found, mfa.last_factor, auth.reauthentication_required, identity.in_production
     */
    async remove(subject: OwnProofOf, factorId: string): Promise<void> {
      await own.assertRecent(subject);
      await factors.remove(subject, factorId);
    },

    /**
     * Makes a new set, which replaces the one before.
     * @throws DomainError mfa.not_enrolled, auth.reauthentication_required, identity.in_production
     */
    async renewRecoveryCodes(subject: OwnProofOf): Promise<string[]> {
      const { hasFactors, allowed } = await own.assertRecent(subject);
      if (!hasFactors) throw new DomainError('mfa.not_enrolled');
      if (!allowed.includes('recovery_code')) throw new DomainError('mfa.factor_not_allowed');
      return recoveryCodes.replace(subject);
    },
  };
}

export type ApiFactors = ReturnType<typeof createApiFactors>;
