import { type EntityManager, IsNull, Not } from 'typeorm';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { lockExclusively } from '../../platform/database/advisory-locks.js';
import { DomainError } from '../errors.js';

/** Claims that have not failed, of an Account for itself and of each organization. */
const mostClaims = { account: 200, organization: 50 };

/** Before any claim is locked: two of one domain are one, and the limit is exact. */
export const takeTurns = (tx: EntityManager, accountId: string): Promise<void> =>
  lockExclusively(tx, `sso-domains/${accountId}`);

/** Each is looked for again and again. @throws DomainError sso_domain.limit_reached */
export async function assertRoom(
  tx: EntityManager,
  { accountId, organizationId }: Pick<SsoDomain, 'accountId' | 'organizationId'>,
): Promise<void> {
  const open = await tx.countBy(SsoDomain, {
    accountId,
    organizationId: organizationId ?? IsNull(),
    status: Not('failed' as const),
  });
  if (open >= mostClaims[organizationId === null ? 'account' : 'organization']) {
    throw new DomainError('sso_domain.limit_reached');
  }
}
