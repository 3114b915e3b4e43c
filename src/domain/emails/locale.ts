import type { EntityManager } from 'typeorm';
import type { Locale } from '../../platform/mail/texts.js';

/** The language in which an Environment writes where nobody says another; an Account by itself writes English. */
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
