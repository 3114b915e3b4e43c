import type { EntityManager } from 'typeorm';
import { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { formatDateTime } from '../emails/format-date-time.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { passwordLinkToken, passwordLinkUrl, readPasswordLink } from '../passwords/links.js';

export interface PasswordMailsDeps {
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  baseUrl: string;
  /** Where administrators sign in; null if no page is configured. */
  signInUrl: string | null;
}

/** The contents of mails about passwords. A mail with a link is null if the link does not work. */
export function passwordMails({ sealing, now, baseUrl, signInUrl }: PasswordMailsDeps) {
  const withLink = async (tx: EntityManager, id: string, locale: 'en' | 'de') => {
    const found = await readPasswordLink(tx, id, now());
    if (!found) return null;
    const { email, firstName, expiresAt } = found;
    const link = passwordLinkUrl(baseUrl, passwordLinkToken(sealing, found).token);
    return { to: email, values: { first_name: firstName, link, expires_at_text: formatDateTime(expiresAt, locale) } };
  };
  return {
    'set-password': withLink,
    'password-reset': withLink,
    'password-changed': async (tx, id, locale) => {
      const user = await tx.findOneBy(User, { id });
      if (!user?.passwordChangedAt) return null;
      const changed_at_text = formatDateTime(user.passwordChangedAt, locale);
      return { to: user.email, values: { first_name: user.firstName, changed_at_text, link: signInUrl } };
    },
  } satisfies Partial<EmailSubjects>;
}
