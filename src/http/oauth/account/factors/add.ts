import type { FastifyReply } from 'fastify';
import { DomainError } from '../../../../domain/errors.js';
import { withSecondFactor } from '../../../../domain/mfa/assurance.js';
import { factorLabel } from '../../../../domain/mfa/factor-label.js';
import type { NewFactor } from '../../../../domain/mfa/factors.js';
import { cameByMail, type EnrollableKind } from '../../../../domain/mfa/state.js';
import type { AccountPage } from '../../../../domain/oidc/requests/account-request.js';
import type { Acr } from '../../../../domain/sessions/first-factor.js';
import { wantsJson } from '../../../pages/wants-json.js';
import type { AccountOptions } from '../options.js';
import { type AccountVisit, personOf } from '../visit.js';

/** Errors that refuse the second of two forms, since the first one's factor exists. */
const overtaken: string[] = ['mfa.already_enrolled', 'auth.reauthentication_required'];

/** The steps before and after adding a factor, for every kind. */
export function createAdding({ provider, logins, hosted, visits }: AccountOptions) {
  /** The secrets that come with the form, which nobody else has; null without the browser's cookie. */
  function secretsOf({ request, session }: AccountVisit): string[] | null {
    const browser = hosted.cookies.browser.read(request);
    return browser === null ? null : [browser, session.id];
  }

  /** Answers a form that was sent twice like the first time; false if it was not. A script gets the usual refusal. */
  async function isRepeated(
    visit: AccountVisit,
    factor: Pick<NewFactor, 'id'>,
    { isRunning = false } = {},
  ): Promise<boolean> {
    if (wantsJson(visit.request)) return false;
    const { scope, session } = visit;
    const { repeatedEnrollments } = logins;
    const found = await repeatedEnrollments.find(scope, session.identityId, factor, secretsOf(visit), { isRunning });
    if (!found) return false;
    if (found.codes) visits.toCodes(visit, found.codes);
    else visits.done(visit, 'factor_added');
    return true;
  }

  return {
    isRepeated,

    /**
     * Whether the person may continue; otherwise they were sent to prove who they are first.
     * @throws DomainError mfa.factor_not_allowed
     */
    async mayAdd(visit: AccountVisit, kind: EnrollableKind, page: AccountPage): Promise<boolean> {
      const isTaken = visit.client.settings.mfaAllowedFactors.includes(kind);
      const addsNothing = kind === 'email_otp' && cameByMail({ ...visit.session, method: 'session' });
      if (!isTaken || addsNothing) throw new DomainError('mfa.factor_not_allowed');
      return visits.isProven(visit, page);
    },

    /**
     * Adds a factor, which counts as proved in this session. The first factor comes with recovery codes.
     * @throws DomainError mfa.already_enrolled, mfa.too_many_factors, mfa.factor_not_allowed; what `visits.anew`
     *   rethrows
     */
    async add(
      visit: AccountVisit,
      page: AccountPage,
      { factor, amr }: { factor: NewFactor; amr: readonly string[] },
    ): Promise<FastifyReply> {
      const { scope, session } = visit;
      const secrets = secretsOf(visit);
      const codes = secrets ? logins.repeatedEnrollments.codesOf(secrets, factor) : undefined;
      let recoveryCodes: string[] | null;
      try {
        ({ recoveryCodes } = await logins.factors.enroll(personOf(visit), factor, codes));
      } catch (error) {
        const isRefused = error instanceof DomainError && overtaken.includes(error.code);
        if (isRefused && (await isRepeated(visit, factor))) return visit.reply;
        return visits.anew(visit, page, error);
      }
      const before = { amr: session.amr, acr: session.acr as Acr };
      const proved = withSecondFactor(before, { kind: factor.type, amr, counts: true, now: provider.now() });
      await logins.ownSessions.strengthen(scope, session.id, proved);
      return recoveryCodes === null ? visits.done(visit, 'factor_added') : visits.toCodes(visit, recoveryCodes);
    },
  };
}

/** The name that was typed into the form; undefined for none. */
export const labelIn = ({ form }: Pick<AccountVisit, 'form'>): string | undefined =>
  factorLabel(form.get('label')) ?? undefined;
