import { type EntityManager, IsNull, Not } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { voidIdentityLinks } from './identity-links.js';

const voidCodes = 'update emailed_codes set consumed_at = $2 where identity_id = $1 and consumed_at is null';

/**
 * SQL: whether an emailed code has changed its person's address (docs/decisions/0111). It then lives longer than codes
 * do, since it waits for the mail to the former address.
 */
export const hasChangedAddress = (code: string) => `${code}.expires_at > ${code}.consumed_at + interval '10 minutes'`;

/**
 * Ends what belongs to the former address of an Identity: mailed links and codes, since that mailbox may be somebody
 * else's now, and its lock, since wrong passwords are counted for the address at which they were tried. In a transaction
 * that has locked the Identity's row.
 */
export async function endFormerAddress(
  tx: EntityManager,
  { accountId, identityId }: { accountId: string; identityId: string },
  at: Date,
): Promise<void> {
  await voidIdentityLinks(tx, identityId);
  await tx.query(voidCodes, [identityId, at]);
  const locked = { accountId, identityId, lockedUntil: Not(IsNull()) };
  await tx.update(EnvironmentMembership, locked, { lockedUntil: null });
}
