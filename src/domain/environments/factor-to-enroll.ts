import type { FactorKind } from '../../../entities/environment-settings.js';

/** Returns whether no factor can be enrolled by everyone: an emailed code adds nothing to a sign-in by mail. */
export const lackingFactorToEnroll = (allowed: readonly FactorKind[]): boolean =>
  !allowed.includes('totp') && !allowed.includes('webauthn');
