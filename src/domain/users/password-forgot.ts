import { v7 as uuidv7 } from 'uuid';
import type { PasswordLink } from '../../../entities/password-link.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { queueEmail } from '../emails/queue.js';
import { recordEvent } from '../events/record.js';
import { inALabels } from '../logins/address.js';
import { insertPasswordLink } from '../passwords/links.js';

export interface PasswordForgotDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
}

/**
 * Mails a link to replace a forgotten password. An unknown address gets the same rows, and a mail that ends as "nothing
 * to send": neither the answer nor its duration tells whether an address is known.
 */
export const createPasswordForgot =
  ({ db, sealing, now }: PasswordForgotDeps) =>
  ({ email, locale }: { email: string; locale: 'en' | 'de' }): Promise<void> =>
    db.transaction('system', async (tx) => {
      const at = now();
      const [user] = await tx.query<{ id: string; hasPassword: boolean }[]>(
        `select id, password_hash is not null as "hasPassword" from users where id = gatehouse_user_id($1)`,
        [inALabels(email)],
      );
      const purpose: PasswordLink['purpose'] = user?.hasPassword === false ? 'set' : 'reset';
      const link = { id: uuidv7(), userId: user?.id ?? null, purpose, locale };
      await insertPasswordLink(tx, sealing, { ...link, now: at });
      const template = purpose === 'set' ? 'set-password' : 'password-reset';
      await queueEmail(tx, { template, locale, subjectId: link.id, cause: `password-link/${link.id}` }, at);
      await recordEvent(tx, 'auth.password_link_requested', { resourceId: link.id, metadata: { purpose } });
    });
