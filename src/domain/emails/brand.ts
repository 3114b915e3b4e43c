import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { MailBrand } from '../../platform/mail/brand.js';

/** As whose the mails of an Environment are shown: its brand, which without a name is called as the Application. */
export async function brandOf(tx: EntityManager, environmentId: string): Promise<MailBrand> {
  const { branding } = await tx.findOneByOrFail(EnvironmentSettings, { environmentId });
  const [row] = await tx.query<{ name: string }[]>(
    'select name from applications where id = (select application_id from environments where id = $1)',
    [environmentId],
  );
  return {
    name: branding.name ?? (row?.name as string),
    color: branding.primary_color,
    supportEmail: branding.support_email,
  };
}

/** What people know an Environment's application as. */
export const applicationNameOf = async (tx: EntityManager, environmentId: string): Promise<string> =>
  (await brandOf(tx, environmentId)).name;
