import { after, type Clock, minutes } from '../../platform/clock.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { queueEmail } from '../emails/queue.js';
import { recordEvent } from '../events/record.js';
import { countUse } from '../limits/rate-limits.js';
import {
  type FoundLink,
  findIdentityLink,
  insertIdentityLink,
  type LinkClient,
  type NewIdentityLink,
  readIdentityLink,
} from '../one-time/identity-links.js';

/** A person whose password was right, while the address is not confirmed yet. */
export interface Unverified {
  identityId: string;
  /** The link that holds the password; null if it is already the Identity's own. */
  linkId: string | null;
}

export interface Resend {
  /** Returns a sealed ticket to resend the mail, for a person who just proved the password: 15 minutes, one client. */
  ticket(client: LinkClient, unverified: Unverified): string;
  /**
   * Sends the mail again. A ticket that is invalid or too old sends nothing; the person sees the same answer.
   * @throws DomainError rate_limit.exceeded
   */
  withTicket(request: {
    client: LinkClient;
    ticket: string;
    locale: 'en' | 'de';
    parameters: Record<string, string>;
  }): Promise<boolean>;
  /**
   * Sends a new link in place of one that has expired; returns whether there was something to send.
   * @throws DomainError rate_limit.exceeded
   */
  withLink(token: string): Promise<boolean>;
}

/** The person of a ticket may have been removed since, or have confirmed the address in another way. */
const unconfirmedStatement = {
  name: 'member_with_unconfirmed_address',
  text: `
select from environment_memberships m
  cross join lateral (select email_verified_at from identities where id = m.identity_id offset 0) i
where m.environment_id = $1 and m.identity_id = $2 and i.email_verified_at is null`,
};

const ticketLife = minutes(15);
/** The limit of mails to one person, whoever requests them. */
const perIdentity = { name: 'verification-mail', points: 3, windowSeconds: minutes(15) / 1000 };
const context = 'verification-ticket';

interface Sealed extends Unverified {
  oauthClientId: string;
  expiresAt: number;
}

export interface ResendDeps {
  db: Db;
  sealing: Sealing;
  rateLimits: boolean;
  now: Clock;
}

export function createResend({ db, sealing, rateLimits, now }: ResendDeps): Resend {
  const limiter = rateLimits ? createLimiter(db, perIdentity) : null;

  const count = (identityId: string): Promise<void> => countUse(limiter, identityId);

  function open(ticket: string, client: LinkClient): Sealed | null {
    const sealed = openSealedJson<Sealed>(sealing, ticket, context);
    return sealed?.oauthClientId === client.id && sealed.expiresAt > now().getTime() ? sealed : null;
  }

  async function send(client: LinkClient, link: Omit<NewIdentityLink, 'purpose'> & { identityId: string }) {
    const { accountId, environmentId } = client;
    await count(link.identityId);
    await db.transaction({ accountId, environmentId }, async (tx) => {
      const at = now();
      const subjectId = await insertIdentityLink(tx, sealing, client, { ...link, purpose: 'verify_email', now: at });
      const mail = { template: 'verify-email', locale: link.locale, subjectId } as const;
      await queueEmail(tx, { ...mail, cause: `identity-link/${subjectId}`, accountId, environmentId }, at);
      const about = { ...environmentScopeOf(client), resourceId: subjectId };
      await recordEvent(tx, 'auth.verification_mail_requested', about);
    });
    return true;
  }

  const read = ({ accountId, environmentId }: LinkClient, id: string) =>
    db.transaction({ accountId, environmentId }, (tx) => readIdentityLink(tx, id, now()));

  const isUnconfirmed = async ({ environmentId }: LinkClient, identityId: string): Promise<boolean> =>
    (await db.statement(unconfirmedStatement, [environmentId, identityId])).length > 0;

  return {
    ticket: (client, { identityId, linkId }) =>
      sealing.seal(
        JSON.stringify({
          identityId,
          linkId,
          oauthClientId: client.id,
          expiresAt: after(now(), ticketLife).getTime(),
        } satisfies Sealed),
        context,
      ),

    async withTicket({ client, ticket, locale, parameters }) {
      const sealed = open(ticket, client);
      if (!sealed) return false;
      const { identityId, linkId } = sealed;
      if (!(await isUnconfirmed(client, identityId))) return false;
      const parked = linkId === null ? null : await read(client, linkId);
      if (linkId !== null && (!parked || parked.status === 'used')) return false;
      return send(client, { identityId, locale, parameters, ...(parked ? keptOf(parked) : {}) });
    },

    async withLink(token) {
      const link = await db.transaction('system', (tx) => findIdentityLink(tx, 'verify_email', token, now()));
      if (!link || link.status === 'used') return false;
      const { identityId, locale, parameters, oauthClientId: id } = link;
      return send({ ...link, id }, { identityId, locale, parameters, ...keptOf(link) });
    },
  };
}

/** What the next link takes over from this one. */
const keptOf = ({ passwordHash, browserHash, firstName, lastName, joins }: FoundLink) => ({
  passwordHash,
  browserHash,
  firstName,
  lastName,
  joins,
});
