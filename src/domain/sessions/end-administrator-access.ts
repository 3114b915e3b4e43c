import type { EntityManager } from 'typeorm';

/**
 * Ends the sessions of an administrator, except one that is kept, and the sign-ins that wait for a second factor.
 * @returns the ids of the sessions that ended
 */
export async function endAdministratorAccess(
  tx: EntityManager,
  { userId, keepSessionId = null, now }: { userId: string; keepSessionId?: string | null; now: Date },
): Promise<string[]> {
  await tx.query('update pending_user_sign_ins set completed_at = $2 where user_id = $1 and completed_at is null', [
    userId,
    now,
  ]);
  const [ended] = await tx.query<[{ id: string }[], number]>(
    `update user_sessions set revoked_at = $2
     where user_id = $1 and revoked_at is null and expires_at > $2 and id is distinct from $3 returning id`,
    [userId, now, keepSessionId],
  );
  return ended.map(({ id }) => id);
}
