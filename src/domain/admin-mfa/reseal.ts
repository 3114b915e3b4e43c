import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import { userSecretContext } from './totp.js';

/** Re-encrypts the authenticator secrets of platform admins that an older master key sealed; returns how many. */
export const resealUserFactors = (deps: ResealDeps): Promise<number> =>
  resealColumn(deps, {
    table: 'user_mfa_factors',
    column: 'secret',
    where: `type = 'totp'`,
    contextOf: userSecretContext,
  });
