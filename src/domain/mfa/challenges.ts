import type { FactorKind } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import type { OpenSignIn } from '../logins/pending-sign-ins.js';
import type { MfaAttempts } from './attempts.js';
import type { EmailFactor } from './email-factor.js';
import { noticeEmail } from './notices.js';
import type { RecoveryCodes } from './recovery-codes.js';
import { type SecondFactorResult, withSecondFactor } from './second-factor.js';
import { choicesAfter, standingOf } from './standing.js';
import type { Totp } from './totp.js';
import type { Webauthn } from './webauthn.js';

export type SecondFactor =
  | { kind: 'totp' | 'recovery_code' | 'email_otp'; code: string }
  /** What the browser sent, unread. */
  | { kind: 'webauthn'; response: unknown };

export interface MfaChallengesDeps {
  db: Db;
  attempts: MfaAttempts;
  totp: Pick<Totp, 'verify'>;
  recoveryCodes: Pick<RecoveryCodes, 'redeem'>;
  emailFactor: Pick<EmailFactor, 'send' | 'verify'>;
  webauthn: Pick<Webauthn, 'verifyAssertion'>;
  now: Clock;
}

/** Answers to the question for a second factor, whichever surface asks it. */
export function createMfaChallenges({
  db,
  attempts,
  totp,
  recoveryCodes,
  emailFactor,
  webauthn,
  now,
}: MfaChallengesDeps) {
  const standing = (pending: OpenSignIn) => standingOf(db, pending);

  /** What the person can answer with. */
  async function factorsOf(pending: OpenSignIn): Promise<FactorKind[]> {
    const { usable, provable } = choicesAfter(pending, await standing(pending));
    return usable.length > 0 ? usable : provable;
  }

  /** The factor's own part of `amr`, or null for a wrong one. */
  async function amrOf(pending: OpenSignIn, proof: SecondFactor): Promise<string[] | null> {
    const { identityId, id: flow } = pending;
    switch (proof.kind) {
      case 'totp':
        return (await totp.verify(pending, identityId, proof.code)) ? ['otp'] : null;
      case 'recovery_code':
        return (await recoveryCodes.redeem(pending, identityId, proof.code)) ? [] : null;
      case 'email_otp':
        return (await emailFactor.verify(pending, 'mfa', { identityId, flow, code: proof.code })) ? ['otp'] : null;
      case 'webauthn':
        return (await webauthn.verifyAssertion(pending, proof.response))?.amr ?? null;
    }
  }

  return {
    factorsOf,

    /**
     * Checks an answer, and spends it. Ten wrong ones in a quarter of an hour lock whoever's it is, in every sign-in.
     * @throws DomainError mfa.code_invalid, mfa.challenge_locked
     */
    async answer(pending: OpenSignIn, proof: SecondFactor): Promise<SecondFactorResult> {
      const { kind } = proof;
      const { allowed, ...rest } = await standing(pending);
      const { usable, provable } = choicesAfter(pending, { allowed, ...rest });
      const isOffered = (usable.length > 0 ? usable : provable).includes(kind);
      const amr = await attempts.counted(pending.identityId, async () => (isOffered ? amrOf(pending, proof) : null));
      await record(pending, kind, amr !== null);
      if (amr === null) throw new DomainError('mfa.code_invalid');
      return withSecondFactor(pending, { kind, amr, counts: allowed.includes(kind), now: now() });
    },

    /**
     * Mails a code to the address of the person.
     * @throws DomainError mfa.email_unavailable, rate_limit.exceeded
     */
    async sendEmailCode(pending: OpenSignIn, locale: 'en' | 'de'): Promise<void> {
      if (!(await factorsOf(pending)).includes('email_otp')) throw new DomainError('mfa.email_unavailable');
      await emailFactor.send(pending, 'mfa', { identityId: pending.identityId, flow: pending.id, locale });
    },
  };

  async function record(pending: OpenSignIn, factor: FactorKind, passed: boolean) {
    const { accountId, applicationId, environmentId, identityId, method } = pending;
    const scope: EnvironmentScope = { accountId, applicationId, environmentId };
    const about = {
      ...scope,
      resourceId: identityId,
      actor: { type: 'identity', id: identityId } as const,
      metadata: { factor, first_factor: method },
    };
    await db.transaction(scope, async (tx) => {
      if (!passed) return void (await recordEvent(tx, 'auth.mfa_challenge_failed', { ...about, outcome: 'failure' }));
      await recordEvent(tx, 'auth.mfa_challenge_passed', about);
      if (factor !== 'recovery_code') return;
      const used = await recordEvent(tx, 'auth.recovery_code_used', about);
      await noticeEmail(tx, scope, used, now());
    });
  }
}

export type MfaChallenges = ReturnType<typeof createMfaChallenges>;
