import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { EntityManager } from 'typeorm';
import type { FactorKind } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import type { OpenSignIn, PendingSignIns } from '../logins/pending-sign-ins.js';
import { aal2 } from '../sessions/first-factor.js';
import { type SecondFactorResult, withSecondFactor } from './assurance.js';
import type { MfaAttempts } from './attempts.js';
import type { RecoveryCodes } from './codes/recovery-codes.js';
import type { Totp } from './codes/totp.js';
import type { EmailFactor } from './email-factor.js';
import { noticeEmail } from './notices.js';
import { choicesAfter, mfaStateOf } from './state.js';
import type { Trusted, TrustedBrowser, TrustedDevices } from './trusted-devices.js';
import type { Webauthn } from './webauthn/webauthn.js';

export type SecondFactor =
  | { kind: 'totp' | 'recovery_code' | 'email_otp'; code: string }
  /** What the browser sent, unparsed. */
  | { kind: 'webauthn'; response: unknown };

export interface MfaChallengesDeps {
  db: Db;
  attempts: MfaAttempts;
  totp: Pick<Totp, 'verify'>;
  recoveryCodes: Pick<RecoveryCodes, 'find' | 'spend'>;
  emailFactor: Pick<EmailFactor, 'send' | 'verify'>;
  webauthn: Pick<Webauthn, 'assertionOptions' | 'verifyAssertion'>;
  pendingSignIns: Pick<PendingSignIns, 'lock' | 'complete' | 'prolong'>;
  trustedDevices: Pick<TrustedDevices, 'trust'>;
  now: Clock;
}

/** The challenge for a second factor and its answers, on every surface. */
export function createMfaChallenges({
  db,
  attempts,
  totp,
  recoveryCodes,
  emailFactor,
  webauthn,
  pendingSignIns,
  trustedDevices,
  now,
}: MfaChallengesDeps) {
  /** What the person can answer with. */
  async function factorsOf(pending: OpenSignIn): Promise<FactorKind[]> {
    const { usable, provable } = choicesAfter(pending, await mfaStateOf(db, pending));
    return usable.length > 0 ? usable : provable;
  }

  /** The factor's own part of `amr`, or null for a wrong one. @param found the recovery code that was typed */
  async function amrOf(pending: OpenSignIn, proof: SecondFactor, { found, on }: Spending): Promise<string[] | null> {
    const { identityId, id: flow } = pending;
    switch (proof.kind) {
      case 'totp':
        return (await totp.verify(pending, identityId, proof.code, on)) ? ['otp'] : null;
      case 'recovery_code':
        return found !== null && (await recoveryCodes.spend(pending, found, on)) ? [] : null;
      case 'email_otp':
        return (await emailFactor.verify(pending, { identityId, flow, code: proof.code }, on)) ? ['otp'] : null;
      case 'webauthn':
        return webauthn.verifyAssertion(pending, proof.response, on);
    }
  }

  /**
   * Checks an answer, and spends it together with the sign-in. All in one transaction that locks the person: removing a
   * factor, or the trust in browsers, comes before all of it or after it, and a form that is sent twice counts once.
   * @returns null for a wrong one
   */
  async function settle(pending: OpenSignIn, proof: SecondFactor, browser: TrustedBrowser | null) {
    const { kind } = proof;
    const { identityId } = pending;
    const found = kind === 'recovery_code' ? await recoveryCodes.find(pending, identityId, proof.code) : null;
    // In the system's scope: one cookie names a browser for people of all Accounts.
    return db.transaction('system', async (tx): Promise<Settled | null> => {
      const on = dbWithin(tx);
      if (!(await pendingSignIns.lock(pending, on))) return { isOver: true };
      const { allowed, ...rest } = await mfaStateOf(on, pending);
      const { usable, provable } = choicesAfter(pending, { allowed, ...rest });
      const isOffered = (usable.length > 0 ? usable : provable).includes(kind);
      const amr = isOffered ? await amrOf(pending, proof, { found, on }) : null;
      await record(tx, pending, kind, amr !== null);
      if (amr === null) return null;
      await pendingSignIns.complete(pending.id, on);
      const proved = withSecondFactor(pending, { kind, amr, counts: allowed.includes(kind), now: now() });
      const isEnough = proved.secondFactorAt !== null && (!pending.requiresAal2 || proved.acr === aal2);
      const trusted = isEnough && browser ? await trustedDevices.trust(pending, { identityId, ...browser }, on) : null;
      return { isOver: false, proved, trusted };
    });
  }

  /** Mails a code, and prolongs the sign-in for the life of the code that the mail states. @returns its new expiry */
  async function mailCode(pending: OpenSignIn, purpose: 'mfa' | 'mfa_enrollment', locale: 'en' | 'de'): Promise<Date> {
    const { id, identityId } = pending;
    const expiresAt = await pendingSignIns.prolong(pending);
    if (!expiresAt) throw new DomainError('mfa.challenge_invalid');
    await emailFactor.send(pending, purpose, { identityId, flow: id, locale });
    return expiresAt;
  }

  return {
    factorsOf,

    /**
     * Checks an answer, and spends it together with the sign-in. Ten wrong ones in a quarter of an hour, or fifty in a
     * day, lock the person in every sign-in.
     * @param browser to be trusted from now on, if the factor is enough for this sign-in
     * @throws DomainError mfa.code_invalid, mfa.challenge_locked; mfa.challenge_invalid where the sign-in is over
     */
    async answer(pending: OpenSignIn, proof: SecondFactor, browser: TrustedBrowser | null): Promise<AnsweredChallenge> {
      // An emailed code only proves the mailbox, so it does not clear the wrong tries at stronger factors. In a sign-in
      // that is over, nothing was checked.
      const proves = ({ isOver }: Settled) => !isOver && proof.kind !== 'email_otp';
      const settled = await attempts.counted(pending.identityId, () => settle(pending, proof, browser), proves);
      if (settled === null) throw new DomainError('mfa.code_invalid');
      if (settled.isOver) throw new DomainError('mfa.challenge_invalid');
      return settled;
    },

    /** For `navigator.credentials.get`; only the last ones work. @throws DomainError mfa.factor_not_allowed */
    async webauthnOptions(pending: OpenSignIn): Promise<PublicKeyCredentialRequestOptionsJSON> {
      // For a person without keys the browser would offer every passkey that it has, and none of them is right.
      if (!(await factorsOf(pending)).includes('webauthn')) throw new DomainError('mfa.factor_not_allowed');
      return webauthn.assertionOptions(pending);
    },

    /**
     * Mails a code to the address of the person, as an answer.
     * @returns when the sign-in expires now
     * @throws DomainError mfa.email_unavailable, rate_limit.exceeded; mfa.challenge_invalid half an hour after the
     *   sign-in began
     */
    async sendEmailCode(pending: OpenSignIn, locale: 'en' | 'de'): Promise<Date> {
      if (!(await factorsOf(pending)).includes('email_otp')) throw new DomainError('mfa.email_unavailable');
      return mailCode(pending, 'mfa', locale);
    },

    /**
     * Mails a code by whose answer the address is enrolled as a factor.
     * @returns when the sign-in expires now
     * @throws DomainError rate_limit.exceeded; mfa.challenge_invalid half an hour after the sign-in began
     */
    sendEnrollmentCode: (pending: OpenSignIn, locale: 'en' | 'de'): Promise<Date> =>
      mailCode(pending, 'mfa_enrollment', locale),
  };

  async function record(tx: EntityManager, pending: OpenSignIn, factor: FactorKind, passed: boolean) {
    const { identityId, method } = pending;
    const scope = environmentScopeOf(pending);
    const about = {
      ...scope,
      resourceId: identityId,
      actor: { type: 'identity', id: identityId } as const,
      metadata: { factor, first_factor: method },
    };
    if (!passed) return void (await recordEvent(tx, 'auth.mfa_challenge_failed', { ...about, outcome: 'failure' }));
    await recordEvent(tx, 'auth.mfa_challenge_passed', about);
    if (factor !== 'recovery_code') return;
    const used = await recordEvent(tx, 'auth.recovery_code_used', about);
    await noticeEmail(tx, scope, used, now());
  }
}

/** What an answer is checked with: the recovery code that was found, and the transaction. */
interface Spending {
  found: string | null;
  on: Db;
}

/** What a right answer leads to. */
export interface AnsweredChallenge {
  proved: SecondFactorResult;
  /** Null unless the browser is trusted from now on. */
  trusted: Trusted | null;
}
type Settled = { isOver: true } | ({ isOver: false } & AnsweredChallenge);

export type MfaChallenges = ReturnType<typeof createMfaChallenges>;
