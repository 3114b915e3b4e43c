import { type EntityManager, IsNull, Not } from 'typeorm';
import { EmailedCode } from '../../../entities/emailed-code.js';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import type { FactorKind } from '../../../entities/environment-settings.js';
import { Event } from '../../../entities/event.js';
import { Identity } from '../../../entities/identity.js';
import { MfaGrace } from '../../../entities/mfa-grace.js';
import type { Clock } from '../../platform/clock.js';
import { type TextKey, text } from '../../platform/mail/texts.js';
import { applicationNameOf } from '../emails/brand.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { greetingOf } from '../emails/greeting.js';
import { hasPasswordIn } from '../emails/has-password.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { factorInMails } from './factor-in-mails.js';

/** The contents of the mails about second factors. Null once the grace has ended or moved to another status. */
export const mfaMails = ({ now, baseUrl }: { now: Clock; baseUrl: string }) =>
  ({
    'mfa-grace-reminder': async (tx, id, locale) => {
      const grace = await tx.findOneBy(MfaGrace, { id, status: 'running' });
      if (!grace || grace.expiresAt <= now()) return null;
      const { identityId, environmentId } = grace;
      // A deactivated member could not sign in to set one up.
      if (!(await tx.existsBy(EnvironmentMembership, { environmentId, identityId, isActive: true }))) return null;
      const { email, firstName } = await tx.findOneByOrFail(Identity, { id: identityId });
      return {
        to: email,
        values: {
          first_name: greetingOf({ firstName, email }),
          application_name: await applicationNameOf(tx, grace.environmentId),
          expires_at_text: formatDateTime(grace.expiresAt, locale),
          link: await addressOf(tx, grace.environmentId, baseUrl),
        },
      };
    },
    /** About the event with the given id. */
    'security-notice': async (tx, id, locale) => {
      const event = await tx.findOneBy(Event, { id });
      if (!event?.resourceId || !event.environmentId) return null;
      const identity = await tx.findOneBy(Identity, { id: event.resourceId });
      if (!identity) return null; // it went meanwhile
      const what = event.action.slice(event.action.indexOf('.') + 1);
      const { factor, email_change_id: changeId } = event.metadata as { factor?: FactorKind; email_change_id?: string };
      // Once the address has changed, its former mailbox has a mail of its own about that.
      if (changeId !== undefined && (await hasEnded(tx, changeId))) return null;
      const hasPassword = await hasPasswordIn(tx, event.environmentId, identity.id);
      return {
        to: identity.email,
        values: {
          first_name: greetingOf(identity),
          application_name: await applicationNameOf(tx, event.environmentId),
          what: text(locale, `email.security_notice.what_${what}` as TextKey, {
            factor: factorInMails(locale, factor ?? 'recovery_code'),
          }),
          happened_at_text: formatDateTime(event.createdAt, locale),
          advice: text(locale, `email.security_notice.${hasPassword ? 'advice' : 'advice_passwordless'}`),
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;

const hasEnded = (tx: EntityManager, emailedCodeId: string): Promise<boolean> =>
  tx.existsBy(EmailedCode, { id: emailedCodeId, consumedAt: Not(IsNull()) });

/** Returns where an Environment's people sign in: the origin to which its oldest client is redirected, or ours. */
async function addressOf(tx: EntityManager, environmentId: string, baseUrl: string): Promise<string> {
  const clients = await tx.query<{ uris: string[] }[]>(
    'select redirect_uris as uris from oauth_clients where environment_id = $1 order by created_at, id limit 5',
    [environmentId],
  );
  const uri = clients.flatMap(({ uris }) => uris).find((one) => /^https?:/.test(one));
  return uri ? new URL('/', uri).href : baseUrl;
}
