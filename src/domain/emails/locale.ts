import type { EntityManager } from 'typeorm';
import type { Locale } from '../../platform/mail/texts.js';

/** Returns the default language of an Environment's mails; mails of an Account itself are in English. */
export async function defaultLocaleOf(
  tx: EntityManager,
  { accountId, environmentId }: { accountId: string; environmentId?: string | null },
): Promise<Locale> {
  if (!environmentId) return 'en';
  const [row] = await tx.query<{ locale: Locale }[]>(
    'select default_locale as locale from environment_settings where account_id = $1 and environment_id = $2',
    [accountId, environmentId],
  );
  return row?.locale ?? 'en';
}
