import type { FastifyReply } from 'fastify';
import { DomainError } from '../../../../domain/errors.js';
import type { NewFactor } from '../../../../domain/mfa/factors.js';
import { withSecondFactor } from '../../../../domain/mfa/second-factor.js';
import { cameByMail, type EnrollableKind } from '../../../../domain/mfa/standing.js';
import type { AccountPage } from '../../../../domain/oidc/account-request.js';
import type { Acr } from '../../../../domain/sessions/first-factor.js';
import type { AccountOptions } from '../options.js';
import { type AccountVisit, personOf } from '../visit.js';

/** What adding a factor begins and ends with, of whatever kind it is. */
export function createAdding({ provider, logins, visits }: Pick<AccountOptions, 'provider' | 'logins' | 'visits'>) {
  return {
    /**
     * Whether it can go on; otherwise the person was sent to prove first who they are.
     * @throws DomainError mfa.factor_not_allowed
     */
    async mayAdd(visit: AccountVisit, kind: EnrollableKind, page: AccountPage): Promise<boolean> {
      const isTaken = visit.client.settings.mfaAllowedFactors.includes(kind);
      const addsNothing = kind === 'email_otp' && cameByMail({ ...visit.session, method: 'session' });
      if (!isTaken || addsNothing) throw new DomainError('mfa.factor_not_allowed');
      return visits.isProven(visit, page);
    },

    /**
     * Adds it. Who has just proved a factor need not show it again in this session; with the first one come recovery codes.
     * @throws DomainError mfa.already_enrolled, mfa.too_many_factors, mfa.factor_not_allowed; what `visits.anew` leaves
     */
    async add(
      visit: AccountVisit,
      page: AccountPage,
      { factor, amr }: { factor: NewFactor; amr: readonly string[] },
    ): Promise<FastifyReply> {
      const { scope, session } = visit;
      let recoveryCodes: string[] | null;
      try {
        ({ recoveryCodes } = await logins.factors.enroll(personOf(visit), factor));
      } catch (error) {
        return visits.anew(visit, page, error);
      }
      const before = { amr: session.amr, acr: session.acr as Acr };
      const proved = withSecondFactor(before, { kind: factor.type, amr, counts: true, now: provider.now() });
      await logins.ownSessions.strengthen(scope, session.id, proved);
      return recoveryCodes === null ? visits.done(visit, 'factor_added') : visits.toCodes(visit, recoveryCodes);
    },
  };
}

/** A name that somebody typed, as far as a list can show it; undefined for none. */
export function labelIn({ form }: Pick<AccountVisit, 'form'>): string | undefined {
  const typed = form.get('label')?.replace(/\p{C}/gu, ' ').trim();
  return typed ? [...typed].slice(0, 100).join('') : undefined;
}
