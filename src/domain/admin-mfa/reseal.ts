import { type ResealDeps, resealSecrets } from '../mfa/reseal.js';
import { userSecretContext } from './totp.js';

/** Encrypts authenticator secrets of platform admins anew that an older master key sealed. Answers how many. */
export const resealUserFactors = (deps: ResealDeps): Promise<number> =>
  resealSecrets(deps, { table: 'user_mfa_factors', contextOf: userSecretContext });
