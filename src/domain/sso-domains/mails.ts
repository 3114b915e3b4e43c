import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { Event } from '../../../entities/event.js';
import { Node } from '../../../entities/node.js';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { text } from '../../platform/mail/texts.js';
import { tenantOf } from '../../platform/scope.js';
import { isOwner } from '../capabilities/owners.js';
import { greetingOf } from '../emails/greeting.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { recordOf } from './challenge.js';

interface Person {
  email: string;
  firstName: string | null;
}

/** Queues the mail that a domain is not verified any more, sent after the commit. The event identifies the claim. */
export async function lapseEmail(
  tx: EntityManager,
  { id, accountId, environmentId }: SsoDomain,
  { eventId, now }: { eventId: string; now: Date },
): Promise<void> {
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  const mail = {
    template: 'sso-domain-lapsed',
    locale,
    subjectId: eventId,
    cause: `sso-domain/${id}/lapsed/${eventId}`,
  } as const;
  await queueEmail(tx, { ...mail, ...tenantOf({ accountId, environmentId }) }, now);
}

/** The content of the mail. Null if the claim has been deleted, is verified again, or has failed. */
export const domainMails = () =>
  ({
    'sso-domain-lapsed': async (tx, eventId, locale) => {
      const event = await tx.findOneBy(Event, { id: eventId });
      const id = event?.resourceId;
      const claim = id ? await tx.findOneBy(SsoDomain, { id, status: 'lapsed' }) : null;
      const claimant = claim && (await claimantOf(tx, claim));
      const person = claimant ?? (claim && (await firstOwnerOf(tx, claim.accountId)));
      if (!claim || !person) return null;
      const { name, value } = recordOf(claim);
      return {
        to: person.email,
        values: {
          first_name: greetingOf(person),
          domain: claim.domain,
          place_name: await placeOf(tx, claim),
          record_name: name,
          record_value: value,
          reason: text(locale, `email.sso_domain_lapsed.reason_${claimant ? 'claimant' : 'owner'}`),
        },
      };
    },
  }) satisfies Partial<EmailSubjects>;

/** Returns the name of the Account or organization for which a domain was claimed: its reader may have several. */
async function placeOf(tx: EntityManager, { accountId, organizationId }: SsoDomain): Promise<string> {
  const entity = organizationId ? Node : Account;
  return (await tx.findOneByOrFail(entity, { id: organizationId ?? accountId })).name;
}

/** Returns the person who claimed the domain, if they are still a member of the Account or the Environment. */
async function claimantOf(tx: EntityManager, claim: SsoDomain): Promise<Person | undefined> {
  const { claimedByType, claimedBy, accountId, environmentId } = claim;
  if (claimedByType === 'api_key') return undefined;
  const [person] =
    claimedByType === 'platform_admin'
      ? await tx.query<Person[]>(
          `select u.email::text, u.first_name as "firstName" from users u join memberships m on m.user_id = u.id
           where m.account_id = $1 and u.id = $2`,
          [accountId, claimedBy],
        )
      : await tx.query<Person[]>(
          `select i.email::text, i.first_name as "firstName" from identities i
             join environment_memberships m on m.identity_id = i.id and m.environment_id = $3 and m.is_active
           where i.account_id = $1 and i.id = $2`,
          [accountId, claimedBy, environmentId],
        );
  return person;
}

async function firstOwnerOf(tx: EntityManager, accountId: string): Promise<Person | undefined> {
  const [person] = await tx.query<Person[]>(
    `select u.email::text, u.first_name as "firstName" from memberships m join users u on u.id = m.user_id
     where m.account_id = $1 and ${isOwner('m')} order by m.created_at, m.id limit 1`,
    [accountId],
  );
  return person;
}
