import type { FactorKind } from '../../../entities/environment-settings.js';
import type { OpenSignIn } from '../logins/pending-sign-ins.js';
import { type Acr, aal2, type FirstFactor } from '../sessions/first-factor.js';

/** What a sign-in amounts to with its second factor. */
export interface SecondFactorResult {
  amr: string[];
  acr: Acr;
  /** Null for a factor that only lets the person add one which the Environment takes. */
  secondFactorAt: Date | null;
  ownFactorAt: Date;
}

type Shown = Pick<FirstFactor, 'amr' | 'acr' | 'secondFactorAt' | 'ssoConnectionId' | 'ownFactorAt'>;

/**
 * Whether a second factor was shown in a sign-in, for which `secondFactorAt` is no proof: a browser that is trusted stands for one and
 * shows none. A mailed code names itself, all others make aal2. Alone it is how somebody signed in. What a provider says is aal2 or nothing: its `otp` is no code of ours.
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
  /** Whether the Environment takes this kind. */
  counts: boolean;
  now: Date;
}

/** An emailed code proves the mailbox only, which is how one would also reset the password: it never makes aal2 (contract §3). */
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
    // One that does not count takes nothing from whom a provider said it of already.
    secondFactorAt: counts ? now : acr === aal2 ? secondFactorAt : null,
    ownFactorAt: now,
  };
}
