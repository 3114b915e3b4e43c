import type { EntityManager } from 'typeorm';
import type { MailBrand } from '../../platform/mail/brand.js';

/** Why a mail of an Environment that has ended is not sent. */
export const environmentDeleted = 'the environment was deleted';

/** The brands that each transaction has read: a mail needs one first for its text, then for its sender. */
const read = new WeakMap<EntityManager, Map<string, Promise<MailBrand | null>>>();

/**
 * Returns the brand of an Environment's mails; without a name of its own it has the Application's. Null once the
 * Environment has ended (`beginRemovals`) or was deleted.
 */
export function brandOf(tx: EntityManager, environmentId: string): Promise<MailBrand | null> {
  const known = read.get(tx) ?? new Map<string, Promise<MailBrand | null>>();
  read.set(tx, known);
  const brand = known.get(environmentId) ?? readBrand(tx, environmentId);
  known.set(environmentId, brand);
  return brand;
}

async function readBrand(tx: EntityManager, environmentId: string): Promise<MailBrand | null> {
  const [brand] = await tx.query<MailBrand[]>(
    `select coalesce(s.branding ->> 'name', a.name) as name, s.branding ->> 'primary_color' as color,
       s.branding ->> 'support_email' as "supportEmail"
     from environment_settings s
     join environments e on e.id = s.environment_id
     join applications a on a.id = e.application_id
     where s.environment_id = $1`,
    [environmentId],
  );
  return brand ?? null;
}

/** Returns the name under which people know an Environment's application. */
export async function applicationNameOf(tx: EntityManager, environmentId: string): Promise<string> {
  const brand = await brandOf(tx, environmentId);
  if (!brand) throw new Error('the Environment is gone');
  return brand.name;
}
