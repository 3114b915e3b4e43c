import type { EntityManager } from 'typeorm';
import { Identity } from '../../../entities/identity.js';

export interface Arriving {
  accountId: string;
  environmentId: string;
  /** When they were asked in; null: it was nobody's to ask. */
  askedAt: Date | null;
}

type Known = Pick<Identity, 'id' | 'emailVerifiedAt' | 'verifiedByWord'>;

/**
 * Whether an address counts as verified only because somebody asserted it (an administrator, an import), in a case where that does not
 * suffice (docs/decisions/0077), since whoever did may know the password and have a passkey: the Identity enters a production
 * Environment for the first time, or it was asserted after the invite.
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

/** Nobody has confirmed the address then. In the caller's transaction, which has the Identity locked and settles whose it is. */
export const revokeVerification = (tx: EntityManager, { accountId }: Pick<Arriving, 'accountId'>, id: string) =>
  tx.update(Identity, { accountId, id }, { emailVerifiedAt: null, verifiedByWord: false });
