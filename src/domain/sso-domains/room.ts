import { type EntityManager, IsNull, Not } from 'typeorm';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { lockExclusively } from '../../platform/database/advisory-locks.js';
import { DomainError } from '../errors.js';

/** Limits on claims that have not failed, for an Account itself and for each organization. */
const maxClaims = { account: 200, organization: 50 };

/**
 * Serializes an Account's changes that may open another claim, before any claim is locked: two requests for one domain
 * make one claim, and the limit is exact.
 */
export const lockClaims = (tx: EntityManager, accountId: string): Promise<void> =>
  lockExclusively(tx, `sso-domains/${accountId}`);

type Claimed = Pick<SsoDomain, 'accountId' | 'organizationId'>;

/** Whether the limit allows another claim. It exists since every open claim is looked up again and again. */
export async function hasRoom(tx: EntityManager, { accountId, organizationId }: Claimed): Promise<boolean> {
  const open = await tx.countBy(SsoDomain, {
    accountId,
    organizationId: organizationId ?? IsNull(),
    status: Not('failed' as const),
  });
  return open < maxClaims[organizationId === null ? 'account' : 'organization'];
}

/** @throws DomainError sso_domain.limit_reached */
export async function assertRoom(tx: EntityManager, claimed: Claimed): Promise<void> {
  if (!(await hasRoom(tx, claimed))) throw new DomainError('sso_domain.limit_reached');
}
