import type { EntityManager } from 'typeorm';
import { type Clock, hours } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter } from '../../platform/limiter.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { countUse } from '../limits/rate-limits.js';
import {
  type FoundLink,
  findIdentityLink,
  insertIdentityLink,
  type LinkClient,
  letsChoosePassword,
} from '../one-time/identity-links.js';
import { environmentRule, type RuleOfEnvironment } from '../passwords/context-rows.js';
import { hasJustSet } from '../passwords/just-set.js';
import { settleNewPassword } from '../passwords/new-password.js';
import type { Passwords } from '../passwords/passwords.js';
import { addressTyped } from './address.js';
import type { Attempts } from './attempts.js';

export interface ForgottenPassword {
  client: LinkClient;
  email: string;
  locale: 'en' | 'de';
  /** The authorization request that continues afterwards; empty in the API. */
  parameters: Record<string, string>;
}

export interface PresentedResetLink {
  token: string;
  /** The Environment whose links alone are accepted, as in the API. */
  environmentId?: string;
}

export interface IdentityPasswordReset {
  /**
   * Mails a link to set a new password. The answer and the work are the same for known and unknown addresses, and for
   * an Environment without passwords: its links are void, and nothing is mailed for a void one.
   * @throws DomainError rate_limit.exceeded, when too many were asked for with this address
   */
  forgot(request: ForgottenPassword): Promise<void>;
  /**
   * Returns the person whose password the link sets, and its minimum length. It changes nothing, so mail scanners may
   * open the link.
   */
  look(presented: PresentedResetLink): Promise<LookedAtReset>;
  /**
   * Sets the password, confirms the address, and ends every session, grant and unfinished sign-in of the Identity.
   * @throws DomainError password.link_invalid, or validation.failed, password.breached and password.context_specific
   *   with the link still good
   */
  reset(presented: PresentedResetLink & { password: string }): Promise<FoundLink>;
  /** The link, if it set this very password within the last minute: its form was sent twice, and nothing is done. */
  hasJustSet(presented: PresentedResetLink & { password: string }): Promise<FoundLink | null>;
}

export type LookedAtReset =
  | { outcome: 'open'; link: FoundLink; rule: RuleOfEnvironment }
  /** `link` is null if there never was one with this token. */
  | { outcome: 'void'; link: FoundLink | null };

/** Limit on mails to an address of an Environment, known or not. */
const perAddress = { name: 'password-forgot-address', points: 5, windowSeconds: hours(1) / 1000 };

export interface PasswordResetDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  passwords: Pick<Passwords, 'hash' | 'verify' | 'assertAcceptable'>;
  attempts: Pick<Attempts, 'forgive'>;
  rateLimits: boolean;
  now: Clock;
}

/** The mailed link with which end users replace a forgotten password. */
export function createIdentityPasswordReset({
  db,
  sealing,
  passwords,
  attempts,
  rateLimits,
  now,
}: PasswordResetDeps): IdentityPasswordReset {
  const limiter = rateLimits ? createLimiter(db, perAddress) : null;

  async function find(tx: EntityManager, { token, environmentId }: PresentedResetLink): Promise<FoundLink | null> {
    const link = await findIdentityLink(tx, 'reset_password', token, now());
    return environmentId === undefined || link?.environmentId === environmentId ? link : null;
  }
  const look = (presented: PresentedResetLink): Promise<LookedAtReset> =>
    db.transaction('system', async (tx) => {
      const link = await find(tx, presented);
      if (!letsChoosePassword(link)) return { outcome: 'void', link };
      return { outcome: 'open', link, rule: await environmentRule(tx, link, link.identityId) };
    });

  return {
    async forgot({ client, email: typed, locale, parameters }) {
      const email = addressTyped(typed);
      const { accountId, environmentId } = client;
      await countUse(limiter, `${environmentId} ${countedAddress(email)}`);
      await db.transaction({ accountId, environmentId }, async (tx) => {
        const at = now();
        // For an unknown address there is a row as well; its mail ends as "nothing to send".
        const [member] = await tx.query<{ identityId: string }[]>(
          `select identity_id as "identityId" from environment_memberships
           where environment_id = $2 and is_active and identity_id = (select gatehouse_identity_id($1, $3::citext))`,
          [accountId, environmentId, email],
        );
        const link = { identityId: member?.identityId ?? null, purpose: 'reset_password', locale, parameters } as const;
        const linkId = await insertIdentityLink(tx, sealing, client, { ...link, now: at });
        const mail = { template: 'identity-password-reset', locale, subjectId: linkId } as const;
        await queueEmail(tx, { ...mail, cause: `identity-link/${linkId}`, accountId, environmentId }, at);
        const about = { ...environmentScopeOf(client), resourceId: linkId };
        await recordEvent(tx, 'auth.identity_password_link_requested', about);
      });
    },

    look,

    async reset({ password, ...presented }) {
      const looked = await look(presented);
      if (looked.outcome === 'void') throw new DomainError('password.link_invalid');
      const { link, rule } = looked;
      await passwords.assertAcceptable(password, { ...rule, field: 'password' });
      const passwordHash = await passwords.hash(password);
      // The person has one password in the Account, and sessions in any of its Environments.
      await db.transaction({ accountId: link.accountId }, async (tx) => {
        await tx.query('select from identities where id = $1 for update', [link.identityId]);
        const found = await find(tx, presented); // read again under the lock: a link works once
        if (!letsChoosePassword(found)) throw new DomainError('password.link_invalid');
        const at = now();
        await tx.query('update identity_links set used_at = $2 where id = $1', [found.id, at]);
        await settleNewPassword(tx, found, { passwordHash, method: 'reset_link', provesEmail: true, now: at });
      });
      const { accountId, identityId, email } = link;
      await attempts.forgive({ accountId }, { identityId, email });
      return link;
    },

    async hasJustSet({ password, ...presented }) {
      const link = await db.transaction('system', (tx) => find(tx, presented));
      if (!link) return null;
      const used = { usedAt: link.usedAt, passwordHash: link.currentPasswordHash };
      return (await hasJustSet(passwords, used, { password, now: now() })) ? link : null;
    },
  };
}
