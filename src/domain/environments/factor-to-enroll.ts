import type { FactorKind } from '../../../entities/environment-settings.js';

/** Whether there is no factor that everyone can enroll: an emailed code adds nothing for those who sign in by mail. */
export const lackingFactorToEnroll = (allowed: readonly FactorKind[]): boolean =>
  !allowed.includes('totp') && !allowed.includes('webauthn');
