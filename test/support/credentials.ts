import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

type Query = <Row extends object>(text: string, values: unknown[]) => Promise<Row[]>;

/** Gives a person a passkey and recovery codes, as if anybody had enrolled them. */
export async function plantFactors(query: Query, identityId: string): Promise<void> {
  await query(
    `insert into mfa_factors (id, account_id, identity_id, type, label, credential_id, public_key, sign_count, is_discoverable, enrolled_at)
     select $2, account_id, id, 'webauthn', 'Phone', $3, $3, 0, true, now() from identities where id = $1`,
    [identityId, uuidv7(), randomBytes(16)],
  );
  await query(
    `insert into recovery_codes (id, account_id, identity_id, generation, code_hash, created_at)
     select $2, account_id, id, 1, 'hash', now() from identities where id = $1`,
    [identityId, uuidv7()],
  );
}

/** Returns what a person has besides a password to sign in with. */
export async function credentialsOf(query: Query, identityId: string) {
  const [row] = await query<{ factors: number; recoveryCodes: number; links: number }>(
    `select (select count(*)::int from mfa_factors where identity_id = $1) as factors,
       (select count(*)::int from recovery_codes where identity_id = $1) as "recoveryCodes",
       (select count(*)::int from sso_links where identity_id = $1) as links`,
    [identityId],
  );
  return row;
}
export const noCredentials = { factors: 0, recoveryCodes: 0, links: 0 };
