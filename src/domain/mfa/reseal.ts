import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import { totpSecretContext } from './codes/totp.js';

/** Re-encrypts the authenticator secrets of end users that an older master key sealed; returns how many. */
export const resealFactors = (deps: ResealDeps): Promise<number> =>
  resealColumn(deps, { table: 'mfa_factors', column: 'secret', where: `type = 'totp'`, contextOf: totpSecretContext });
