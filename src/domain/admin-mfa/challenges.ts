import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/db.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import type { MfaAttempts } from '../mfa/attempts.js';
import { type SecondFactorResult, withSecondFactor } from '../mfa/second-factor.js';
import { aal1 } from '../sessions/first-factor.js';
import type { UserFactors } from './factors.js';
import { noticeAdmin } from './mails.js';
import type { BeginUserSignIn, OpenUserSignIn, PendingUserSignIns } from './pending.js';
import type { UserRecoveryCodes } from './recovery-codes.js';
import type { UserTotp } from './totp.js';
import type { UserWebauthn } from './webauthn.js';

export type AdminSecondFactor =
  | { kind: 'totp' | 'recovery_code'; code: string }
  /** What the browser sent, unread. */
  | { kind: 'webauthn'; response: unknown };

export type AdminFactorKind = AdminSecondFactor['kind'];

/** A question for a second factor, as the person is asked it. */
export interface AdminChallenge {
  /** For the answer; works once. */
  challengeToken: string;
  availableFactors: AdminFactorKind[];
  expiresAt: Date;
}

export interface AdminChallengesDeps {
  db: Db;
  attempts: Pick<MfaAttempts, 'counted'>;
  factors: Pick<UserFactors, 'kinds'>;
  recoveryCodes: Pick<UserRecoveryCodes, 'redeem' | 'remaining'>;
  totp: Pick<UserTotp, 'verify'>;
  webauthn: Pick<UserWebauthn, 'assertionOptions' | 'verifyAssertion'>;
  pending: Pick<PendingUserSignIns, 'begin' | 'find' | 'complete'>;
  now: Clock;
}

/** Between the first and the second factor of a platform admin's sign-in. */
export function createAdminChallenges(deps: AdminChallengesDeps) {
  const { db, attempts, factors, recoveryCodes, totp, webauthn, pending, now } = deps;

  /** @throws DomainError mfa.challenge_invalid, alike for every token that does not work */
  async function open(token: string): Promise<OpenUserSignIn> {
    const found = await pending.find(token);
    if (!found) throw new DomainError('mfa.challenge_invalid');
    return found;
  }

  /** The factor's own part of `amr`, or null for a wrong one. */
  async function amrOf(signIn: OpenUserSignIn, proof: AdminSecondFactor): Promise<string[] | null> {
    switch (proof.kind) {
      case 'totp':
        return (await totp.verify(signIn.userId, proof.code)) ? ['otp'] : null;
      case 'recovery_code':
        return (await recoveryCodes.redeem(signIn.userId, proof.code)) ? [] : null;
      case 'webauthn':
        return webauthn.verifyAssertion(signIn, proof.response);
    }
  }

  async function record(
    { userId, method }: OpenUserSignIn,
    kind: AdminFactorKind,
    passed: boolean,
    locale: 'en' | 'de',
  ) {
    const actor = { type: 'platform_admin', id: userId } as const;
    const about = { resourceId: userId, actor, metadata: { factor: kind, first_factor: method } };
    await db.transaction('system', async (tx) => {
      if (!passed) {
        return void (await recordEvent(tx, 'auth.admin_mfa_challenge_failed', { ...about, outcome: 'failure' }));
      }
      await recordEvent(tx, 'auth.admin_mfa_challenge_passed', about);
      if (kind !== 'recovery_code') return;
      const eventId = await recordEvent(tx, 'auth.admin_recovery_code_used', about);
      await noticeAdmin(tx, { userId, eventId, locale, now: now() });
    });
  }

  return {
    /** Whether the user has a factor, so that no sign-in of theirs does without. */
    isAsked: async (userId: string): Promise<boolean> => (await factors.kinds(userId)).length > 0,

    /** The question that somebody who has a factor is asked; null for whoever has none. */
    async ask(first: BeginUserSignIn): Promise<AdminChallenge | null> {
      const kinds = await factors.kinds(first.userId);
      if (kinds.length === 0) return null;
      const { remaining } = await recoveryCodes.remaining(first.userId);
      const { token, expiresAt } = await pending.begin(first);
      return {
        challengeToken: token,
        availableFactors: [...kinds, ...(remaining > 0 ? (['recovery_code'] as const) : [])],
        expiresAt,
      };
    },

    /**
     * Options for `navigator.credentials.get`; each makes the ones before void.
     * @throws DomainError mfa.challenge_invalid
     */
    webauthnOptions: async (token: string): Promise<PublicKeyCredentialRequestOptionsJSON> =>
      webauthn.assertionOptions(await open(token)),

    /**
     * Checks an answer, and spends it with the token. Ten wrong ones in a quarter of an hour lock whoever's it is, in every
     * sign-in.
     * @throws DomainError mfa.challenge_invalid, mfa.code_invalid, mfa.challenge_locked
     */
    async answer(
      token: string,
      proof: AdminSecondFactor,
      locale: 'en' | 'de',
    ): Promise<{ signIn: OpenUserSignIn; proved: SecondFactorResult }> {
      const signIn = await open(token);
      const amr = await attempts.counted(signIn.userId, () => amrOf(signIn, proof));
      await record(signIn, proof.kind, amr !== null, locale);
      if (amr === null) throw new DomainError('mfa.code_invalid');
      if (!(await pending.complete(signIn.id))) throw new DomainError('mfa.challenge_invalid');
      const proved = { kind: proof.kind, amr, counts: true, now: now() };
      return { signIn, proved: withSecondFactor({ amr: signIn.amr, acr: aal1 }, proved) };
    },
  };
}

export type AdminChallenges = ReturnType<typeof createAdminChallenges>;
