import type { EntityManager } from 'typeorm';
import { MfaFactor } from '../../../entities/mfa-factor.js';
import { RecoveryCode } from '../../../entities/recovery-code.js';
import type { AccountScope } from '../../platform/scope.js';

/**
 * Removes all second factors and recovery codes of a person, in a transaction of the Account that has locked the
 * Identity's row.
 * @returns whether there were any
 */
export async function forgetFactors(
  tx: EntityManager,
  { accountId }: AccountScope,
  identityId: string,
): Promise<boolean> {
  const { affected } = await tx.delete(MfaFactor, { accountId, identityId });
  await tx.delete(RecoveryCode, { accountId, identityId });
  return !!affected;
}
