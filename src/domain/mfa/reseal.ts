import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import { totpSecretContext } from './totp.js';

/** Encrypts authenticator secrets of end users anew that an older master key sealed. Answers how many. */
export const resealFactors = (deps: ResealDeps): Promise<number> =>
  resealColumn(deps, { table: 'mfa_factors', column: 'secret', where: `type = 'totp'`, contextOf: totpSecretContext });
