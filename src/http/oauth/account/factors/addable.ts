import type { FactorKind } from '../../../../../entities/environment-settings.js';
import type { OwnProfile } from '../../../../domain/logins/own-profile.js';
import type { FactorSummary } from '../../../../domain/mfa/factors.js';
import { cameByMail, type EnrollableKind } from '../../../../domain/mfa/state.js';
import type { AccountVisit } from '../visit.js';

export interface Addable {
  addable: EnrollableKind[];
  /** Whether codes by mail are missing because the sign-in began with one. */
  cameByMail: boolean;
}

/** Returns what somebody can add: any number of apps and keys, and codes by mail once, if the address is verified. */
export function addableBy(
  { session, client: { settings } }: Pick<AccountVisit, 'session' | 'client'>,
  factors: readonly Pick<FactorSummary, 'type'>[],
  profile: Pick<OwnProfile, 'isVerified'>,
): Addable {
  const all = kindsOf(factors, profile, settings.mfaAllowedFactors);
  const byMail = all.includes('email_otp') && cameByMail({ ...session, method: 'session' });
  return { addable: byMail ? all.filter((kind) => kind !== 'email_otp') : all, cameByMail: byMail };
}

function kindsOf(
  factors: readonly Pick<FactorSummary, 'type'>[],
  { isVerified }: Pick<OwnProfile, 'isVerified'>,
  allowed: readonly FactorKind[],
): EnrollableKind[] {
  const mailable = isVerified && !factors.some(({ type }) => type === 'email_otp');
  return (['totp', 'webauthn', 'email_otp'] as const).filter(
    (kind) => allowed.includes(kind) && (kind !== 'email_otp' || mailable),
  );
}
