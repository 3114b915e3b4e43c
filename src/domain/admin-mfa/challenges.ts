import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { DomainError } from '../errors.js';
import { recordOfUser } from '../events/user-events.js';
import { type SecondFactorResult, withSecondFactor } from '../mfa/assurance.js';
import type { MfaAttempts } from '../mfa/attempts.js';
import { aal1 } from '../sessions/first-factor.js';
import type { UserFactors } from './factors.js';
import { noticeAdmin } from './mails.js';
import type { BeginUserSignIn, LockedUserSignIn, OpenUserSignIn, PendingUserSignIns } from './pending-sign-ins.js';
import type { UserRecoveryCodes } from './recovery-codes.js';
import type { UserTotp } from './totp.js';
import type { UserWebauthn } from './webauthn.js';

export type AdminSecondFactor =
  | { kind: 'totp' | 'recovery_code'; code: string }
  /** What the browser sent, not validated yet. */
  | { kind: 'webauthn'; response: unknown };

export type AdminFactorKind = AdminSecondFactor['kind'];

/** A request for a second factor, as the person sees it. */
export interface AdminChallenge {
  /** To be sent back with the answer; works once. */
  challengeToken: string;
  availableFactors: AdminFactorKind[];
  expiresAt: Date;
}

export interface AdminChallengesDeps {
  db: Db;
  attempts: Pick<MfaAttempts, 'counted'>;
  factors: Pick<UserFactors, 'kinds'>;
  recoveryCodes: Pick<UserRecoveryCodes, 'find' | 'spend' | 'remaining'>;
  totp: Pick<UserTotp, 'verify'>;
  webauthn: Pick<UserWebauthn, 'assertionOptions' | 'verifyAssertion'>;
  pending: Pick<PendingUserSignIns, 'begin' | 'find' | 'lock' | 'complete'>;
  now: Clock;
}

/** The step between the first and the second factor of a platform admin's sign-in. */
export function createAdminChallenges(deps: AdminChallengesDeps) {
  const { db, attempts, factors, recoveryCodes, totp, webauthn, pending, now } = deps;

  /** @throws DomainError mfa.challenge_invalid, whatever the reason why the token does not work */
  async function open(token: string): Promise<OpenUserSignIn> {
    const found = await pending.find(token);
    if (!found) throw new DomainError('mfa.challenge_invalid');
    return found;
  }

  /**
   * Returns the factor's own part of `amr`, or null for a wrong answer.
   * @param found the recovery code that was typed
   */
  async function amrOf(signIn: OpenUserSignIn, proof: AdminSecondFactor, { found, on }: Spending) {
    switch (proof.kind) {
      case 'totp':
        return (await totp.verify(signIn.userId, proof.code, on)) ? ['otp'] : null;
      case 'recovery_code':
        return found !== null && (await recoveryCodes.spend(signIn.userId, found, on)) ? [] : null;
      case 'webauthn':
        return webauthn.verifyAssertion(signIn, proof.response, on);
    }
  }

  async function record(tx: EntityManager, { userId, method }: OpenUserSignIn, { kind, passed, locale }: Looked) {
    const actor = { type: 'platform_admin', id: userId } as const;
    const about = { resourceId: userId, actor, metadata: { factor: kind, first_factor: method } };
    if (!passed) {
      return void (await recordOfUser(tx, 'auth.admin_mfa_challenge_failed', { ...about, outcome: 'failure' }));
    }
    await recordOfUser(tx, 'auth.admin_mfa_challenge_passed', about);
    if (kind !== 'recovery_code') return;
    const eventId = await recordOfUser(tx, 'auth.admin_recovery_code_used', about);
    await noticeAdmin(tx, { userId, eventId, locale, now: now() });
  }

  /**
   * Checks an answer and spends it together with the sign-in, in one transaction that locks the user, as for end users
   * (`mfa/challenges`): a removal of a factor happens before all of it or after all of it, and a form that is sent
   * twice is one answer.
   * @returns null for a wrong answer
   */
  async function settle(signIn: OpenUserSignIn, proof: AdminSecondFactor, locale: 'en' | 'de') {
    const { kind } = proof;
    const found = kind === 'recovery_code' ? await recoveryCodes.find(signIn.userId, proof.code) : null;
    return db.transaction('system', async (tx): Promise<Settled | null> => {
      const on = dbWithin(tx);
      const locked = await pending.lock(signIn, on);
      if (locked === null) return { isOver: true };
      const amr = await amrOf(signIn, proof, { found, on });
      await record(tx, signIn, { kind, passed: amr !== null, locale });
      if (amr === null) return null;
      await pending.complete(signIn.id, on);
      return { isOver: false, amr, ...locked };
    });
  }

  return {
    /** Whether the user has a factor, so that every sign-in of theirs needs one. */
    isAsked: async (userId: string): Promise<boolean> => (await factors.kinds(userId)).length > 0,

    /** Begins the challenge of a user who has a factor; returns null for a user who has none. */
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
     * Returns options for `navigator.credentials.get`; they invalidate the ones before.
     * @throws DomainError mfa.challenge_invalid
     */
    webauthnOptions: async (token: string): Promise<PublicKeyCredentialRequestOptionsJSON> =>
      webauthn.assertionOptions(await open(token)),

    /**
     * Checks an answer, and spends it with the token. Ten wrong answers in a quarter of an hour, or fifty in a day,
     * lock the user out of the second factor, in every sign-in.
     * @throws DomainError mfa.challenge_invalid, mfa.code_invalid, mfa.challenge_locked
     */
    async answer(token: string, proof: AdminSecondFactor, locale: 'en' | 'de'): Promise<AnsweredAdminChallenge> {
      const signIn = await open(token);
      const proves = ({ isOver }: Settled) => !isOver; // if the sign-in is over, no answer was checked
      const settled = await attempts.counted(signIn.userId, () => settle(signIn, proof, locale), proves);
      if (settled === null) throw new DomainError('mfa.code_invalid');
      if (settled.isOver) throw new DomainError('mfa.challenge_invalid');
      const { amr, mfaResetAt, emailChangedAt } = settled;
      const proved = { kind: proof.kind, amr, counts: true, now: now() };
      return { signIn, mfaResetAt, emailChangedAt, proved: withSecondFactor({ amr: signIn.amr, acr: aal1 }, proved) };
    },
  };
}

/** The result of a right answer, and what the new session checks again. */
export interface AnsweredAdminChallenge extends LockedUserSignIn {
  signIn: OpenUserSignIn;
  proved: SecondFactorResult;
}

type Settled = { isOver: true } | ({ isOver: false; amr: string[] } & LockedUserSignIn);

/** What an answer is checked with: the id of the recovery code that was typed, and the transaction. */
interface Spending {
  found: string | null;
  on: Db;
}

/** The outcome of an answer, for its event. */
interface Looked {
  kind: AdminFactorKind;
  passed: boolean;
  locale: 'en' | 'de';
}

export type AdminChallenges = ReturnType<typeof createAdminChallenges>;
