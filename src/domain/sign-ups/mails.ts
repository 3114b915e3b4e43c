import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { applicationNameOf } from '../emails/brand.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { greetingOf, greetingOfOwner } from '../emails/greeting.js';
import type { EmailSubjects } from '../emails/subjects.js';
import {
  type FoundLink,
  identityLinkToken,
  identityLinkUrl,
  letsChoosePassword,
  readIdentityLink,
} from '../one-time/identity-links.js';

export interface SignUpMailsDeps {
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  baseUrl: string;
}

/** The contents of the mails of identity links; null once the link does not work, and if nobody has the address. */
export function signUpMails({ sealing, now, baseUrl }: SignUpMailsDeps) {
  const read = async (tx: EntityManager, id: string) => {
    const link = await readIdentityLink(tx, id, now());
    return link?.status === 'open' ? link : null;
  };
  const about = async (tx: EntityManager, link: FoundLink, locale: 'en' | 'de') => ({
    first_name: greetingOfOwner(link),
    application_name: await applicationNameOf(tx, link.environmentId),
    expires_at_text: formatDateTime(link.expiresAt, locale),
  });
  const withLink =
    (purpose: 'verify_email' | 'reset_password') => async (tx: EntityManager, id: string, locale: 'en' | 'de') => {
      const found = await read(tx, id);
      if (!found || found.purpose !== purpose) return null;
      if (purpose === 'reset_password' && !letsChoosePassword(found)) return null;
      const link = identityLinkUrl(baseUrl, purpose, identityLinkToken(sealing, found).token);
      return { to: found.email, values: { ...(await about(tx, found, locale)), link } };
    };
  return {
    'verify-email': withLink('verify_email'),
    'sign-up-join': withLink('verify_email'),
    'identity-password-reset': withLink('reset_password'),
    'sign-up-known-address': async (tx, id, locale) => {
      const found = await read(tx, id);
      if (!found) return null;
      const { expires_at_text: _, ...values } = await about(tx, found, locale);
      const query = new URLSearchParams(found.parameters);
      const link = `${baseUrl}/oauth/authorize?${query}`;
      return { to: found.email, values: { ...values, link, forgot_link: `${baseUrl}/oauth/password/forgot?${query}` } };
    },
    'identity-password-changed': async (tx, id, locale) => {
      const membership = await tx.findOneBy(EnvironmentMembership, { id });
      const identity = membership && (await tx.findOneBy(Identity, { id: membership.identityId }));
      if (!membership || !identity?.passwordChangedAt) return null;
      const { email, firstName, passwordChangedAt } = identity;
      return {
        to: email,
        values: {
          first_name: greetingOf({ firstName, email }),
          application_name: await applicationNameOf(tx, membership.environmentId),
          changed_at_text: formatDateTime(passwordChangedAt, locale),
        },
      };
    },
  } satisfies Partial<EmailSubjects>;
}
