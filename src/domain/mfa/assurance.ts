import type { FactorKind } from '../../../entities/environment-settings.js';
import type { OpenSignIn } from '../logins/pending-sign-ins.js';
import { type Acr, aal2, type FirstFactor } from '../sessions/first-factor.js';

/** What a sign-in is worth with its second factor. */
export interface SecondFactorResult {
  amr: string[];
  acr: Acr;
  /** Null for a factor that the Environment does not accept: it only lets the person add one that it accepts. */
  secondFactorAt: Date | null;
  ownFactorAt: Date;
}

type Shown = Pick<FirstFactor, 'amr' | 'acr' | 'secondFactorAt' | 'ssoConnectionId' | 'ownFactorAt'>;

/**
 * Whether a second factor was really shown in a sign-in. `secondFactorAt` alone does not prove it, since a trusted
 * browser sets it too. Most factors make aal2; an emailed code only appears in `amr`, besides the first factor. In the
 * `amr` of an identity provider, `otp` is not one of our codes, so after a sign-in by one the person has to have shown
 * a factor of their own.
 */
export const showsSecondFactor = ({ amr, acr, secondFactorAt, ssoConnectionId = null, ownFactorAt }: Shown) => {
  if (secondFactorAt === null) return false;
  if (acr === aal2) return true;
  return ssoConnectionId === null ? amr.includes('otp') && amr.length > 1 : ownFactorAt !== null;
};

interface Proved {
  kind: FactorKind;
  /** The factor's own (RFC 8176). */
  amr: readonly string[];
  /** Whether the Environment accepts this kind. */
  counts: boolean;
  now: Date;
}

/**
 * An emailed code proves the mailbox only, which is how one would also reset the password: it never makes aal2
 * (contract §3).
 */
export function withSecondFactor(
  {
    amr: before,
    acr,
    secondFactorAt = null,
  }: Pick<OpenSignIn, 'amr' | 'acr'> & Partial<Pick<OpenSignIn, 'secondFactorAt'>>,
  { kind, amr, counts, now }: Proved,
): SecondFactorResult {
  const isStrong = counts && kind !== 'email_otp';
  return {
    amr: [...new Set([...before, ...amr, ...(isStrong ? ['mfa'] : [])])],
    acr: isStrong ? aal2 : acr,
    // A factor that does not count leaves what an identity provider has vouched for.
    secondFactorAt: counts ? now : acr === aal2 ? secondFactorAt : null,
    ownFactorAt: now,
  };
}
