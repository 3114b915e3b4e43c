import type { EntityManager } from 'typeorm';

/** Ends the sessions of an administrator, except one that is kept. @returns the ids of those that ended */
export async function endAdministratorSessions(
  tx: EntityManager,
  { userId, keepSessionId = null, now }: { userId: string; keepSessionId?: string | null; now: Date },
): Promise<string[]> {
  const [ended] = await tx.query<[{ id: string }[], number]>(
    `update user_sessions set revoked_at = $2
     where user_id = $1 and revoked_at is null and expires_at > $2 and id is distinct from $3 returning id`,
    [userId, now, keepSessionId],
  );
  return ended.map(({ id }) => id);
}
