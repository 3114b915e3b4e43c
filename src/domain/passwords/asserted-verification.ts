import type { EntityManager } from 'typeorm';
import type { Identity } from '../../../entities/identity.js';

export interface Arriving {
  accountId: string;
  environmentId: string;
  /** When they were invited; null if they came without an invite. */
  askedAt: Date | null;
}

type Known = Pick<Identity, 'id' | 'emailVerifiedAt' | 'verifiedByWord'>;

/**
 * Returns whether an address's verification was only asserted (by an administrator, an import) where that does not
 * suffice (docs/decisions/0077), since the person who asserted it may know the password and have a passkey: if the
 * Identity enters a production Environment for the first time, or the assertion came after the invite.
 */
export async function isVerificationOnlyAsserted(
  tx: EntityManager,
  { id, emailVerifiedAt, verifiedByWord }: Known,
  { accountId, environmentId, askedAt }: Arriving,
): Promise<boolean> {
  if (!emailVerifiedAt || !verifiedByWord) return false;
  if (askedAt !== null && emailVerifiedAt > askedAt) return true;
  const arrivesInProduction = await tx.query<unknown[]>(
    `select from environments here where here.id = $3 and here.account_id = $1 and here.type = 'production' and not exists (
       select from environment_memberships m join environments e on e.id = m.environment_id and e.type = 'production'
       where m.account_id = $1 and m.identity_id = $2 and e.account_id = $1)`,
    [accountId, id, environmentId],
  );
  return arrivesInProduction.length > 0;
}
