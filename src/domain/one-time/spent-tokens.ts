import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';

const spendStatement = {
  name: 'spend_sealed_token',
  text: 'insert into spent_tokens (token_hash, expires_at) values ($1, $2) on conflict do nothing returning expires_at',
};

const isSpentStatement = {
  name: 'is_sealed_token_spent',
  text: 'select from spent_tokens where token_hash = $1 and expires_at > $2',
};

const unspendStatement = { name: 'unspend_sealed_token', text: 'delete from spent_tokens where token_hash = $1' };

/** Removes the mark of `spend`, if the token's purpose could not be fulfilled. */
export async function unspend(db: Pick<Db, 'statement'>, secret: string): Promise<void> {
  await db.statement(unspendStatement, [hashSecret(secret)]);
}

/** Returns whether a token was marked and has not expired since. */
export const isSpent = async (db: Pick<Db, 'statement'>, secret: string, now: Date): Promise<boolean> =>
  (await db.statement(isSpentStatement, [hashSecret(secret), now])).length > 0;

/**
 * Marks a sealed token as used, so that it works once. False if it was used before.
 * @param secret the random part of the token: its text can be written in more than one way
 * @param expiresAt when the token would have expired by itself
 */
export async function spend(db: Pick<Db, 'statement'>, secret: string, expiresAt: Date): Promise<boolean> {
  return (await db.statement(spendStatement, [hashSecret(secret), expiresAt])).length > 0;
}
