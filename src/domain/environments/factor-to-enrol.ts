import type { FactorKind } from '../../../entities/environment-settings.js';

/** Whether there is no factor that everyone can enrol: an emailed code adds nothing for those who sign in by mail. */
export const lackingFactorToEnrol = (allowed: readonly FactorKind[]): boolean =>
  !allowed.includes('totp') && !allowed.includes('webauthn');
