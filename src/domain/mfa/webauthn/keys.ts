import type { EntityManager } from 'typeorm';
import type { Statement } from '../../../platform/database/db.js';
import { firstFactorOf } from '../../first-factor-of.js';

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
 * enrolled theirs (docs/decisions/0012, 0109). In the transaction that sets the password, under the lock on the person.
 */
export async function withdrawPasskeys(tx: EntityManager, { table, owner }: Keys, ownerId: string): Promise<void> {
  await tx.query(`update ${table} set signs_in = false where ${owner} = $1 and signs_in`, [ownerId]);
}

const mayPassOnText = `
select from identities i where i.account_id = $1 and i.id = $2
  and not exists (select from mfa_factors f where f.identity_id = i.id and f.type = 'webauthn' and not f.signs_in)
  and (i.password_changed_at is null or exists (select from mfa_factors f where f.identity_id = i.id and f.type = 'webauthn'))`;

/**
 * Whether the session of an end user may give another way to sign in. A key that a new password has made a second
 * factor, and that still signs in where it is the only way, must not pass on more than it has, also once it was removed.
 * In a transaction that holds the person.
 * @param amr of the session (RFC 8176)
 */
export async function mayPassOn(
  tx: EntityManager,
  { accountId, identityId, amr }: { accountId: string; identityId: string; amr: readonly string[] },
): Promise<boolean> {
  if (firstFactorOf(amr) !== 'passkey') return true;
  return (await tx.query<unknown[]>(mayPassOnText, [accountId, identityId])).length > 0;
}
