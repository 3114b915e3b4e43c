import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';

/** What people know an Environment's application as: its brand, or else the Application's name. */
export async function applicationNameOf(tx: EntityManager, environmentId: string): Promise<string> {
  const { branding } = await tx.findOneByOrFail(EnvironmentSettings, { environmentId });
  const [row] = await tx.query<{ name: string }[]>(
    'select name from applications where id = (select application_id from environments where id = $1)',
    [environmentId],
  );
  return branding.name ?? (row?.name as string);
}
