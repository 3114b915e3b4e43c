import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import { MfaGrace } from '../../../entities/mfa-grace.js';
import type { Clock } from '../../platform/clock.js';
import { inWords } from '../emails/in-words.js';
import type { EmailSubjects } from '../emails/subjects.js';

/** What the mails about second factors say. Null once the grace has ended or moved to another status. */
export const mfaMails = ({ now, baseUrl }: { now: Clock; baseUrl: string }) =>
  ({
    'mfa-grace-reminder': async (tx, id, locale) => {
      const grace = await tx.findOneBy(MfaGrace, { id, status: 'running' });
      if (!grace || grace.expiresAt <= now()) return null;
      const { email, firstName } = await tx.findOneByOrFail(Identity, { id: grace.identityId });
      return {
        to: email,
        values: {
          // Many end users have told no name; the mail greets them as their mailbox is called.
          first_name: firstName ?? email.slice(0, email.lastIndexOf('@')),
          application_name: await nameOf(tx, grace.environmentId),
          expires_at_text: inWords(grace.expiresAt, locale),
          link: await addressOf(tx, grace.environmentId, baseUrl),
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;

/** What people know the Environment's application as. */
async function nameOf(tx: EntityManager, environmentId: string): Promise<string> {
  const { branding } = await tx.findOneByOrFail(EnvironmentSettings, { environmentId });
  const [row] = await tx.query<{ name: string }[]>(
    'select name from applications where id = (select application_id from environments where id = $1)',
    [environmentId],
  );
  return branding.name ?? (row?.name as string);
}

/** Where its people sign in: the place that its oldest client sends them back to. */
async function addressOf(tx: EntityManager, environmentId: string, baseUrl: string): Promise<string> {
  const clients = await tx.query<{ uris: string[] }[]>(
    'select redirect_uris as uris from oauth_clients where environment_id = $1 order by created_at, id limit 5',
    [environmentId],
  );
  const uri = clients.flatMap(({ uris }) => uris).find((one) => /^https?:/.test(one));
  return uri ? new URL('/', uri).href : baseUrl;
}
