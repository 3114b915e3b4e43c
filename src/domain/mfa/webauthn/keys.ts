import type { EntityManager } from 'typeorm';
import type { Statement } from '../../../platform/database/db.js';

/** Where keys are stored: those of end users and of administrators have the same columns. */
export interface Keys {
  table: 'mfa_factors' | 'user_mfa_factors';
  owner: 'identity_id' | 'user_id';
  /**
   * Whether an answer as a passkey proves that the authenticator stores the key, whatever the browser said when it was
   * enrolled. A key of an administrator that was enrolled as a second factor stays one (docs/decisions/0109).
   */
  provesStored: boolean;
}

export const keysOfIdentities: Keys = { table: 'mfa_factors', owner: 'identity_id', provesStored: true };
export const keysOfUsers: Keys = { table: 'user_mfa_factors', owner: 'user_id', provesStored: false };

/**
 * Counts a use. WebAuthn Level 3 §6.1.1: a counter grows with each use, or is always zero. The row's lock puts parallel
 * uses in order.
 */
export const useStatementOf = ({ table, owner }: Keys): Statement => ({
  name: `use_key_of_${table}`,
  text: `
update ${table} set sign_count = $3, is_backed_up = $4, last_used_at = $5,
  is_discoverable = case when $6 then true else is_discoverable end,
  signs_in = signs_in or ($7 and is_discoverable is distinct from false)
where id = $1 and ${owner} = $2 and (sign_count < $3 or (sign_count = 0 and $3 = 0)) returning id`,
});

/**
 * Makes a person's keys second factors, until they are used after a new password: whoever knew the one before may have
 * enrolled theirs (docs/decisions/0109). In the transaction that sets the password, under the lock on the person.
 */
export async function withdrawPasskeys(tx: EntityManager, { table, owner }: Keys, ownerId: string): Promise<void> {
  await tx.query(`update ${table} set signs_in = false where ${owner} = $1 and signs_in`, [ownerId]);
}
