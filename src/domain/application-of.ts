import type { EntityManager } from 'typeorm';

/** Returns the id of an Environment's Application; null without an Environment. */
export async function applicationOf(tx: EntityManager, environmentId: string | null): Promise<string | null> {
  if (environmentId === null) return null;
  const [place] = await tx.query<{ applicationId: string }[]>(
    'select application_id as "applicationId" from environments where id = $1',
    [environmentId],
  );
  return place?.applicationId ?? null;
}
