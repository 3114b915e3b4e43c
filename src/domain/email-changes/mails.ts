import { EmailChange } from '../../../entities/email-change.js';
import { User } from '../../../entities/user.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { userByAddress } from '../addresses/user-by-address.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { greetingOf } from '../emails/greeting.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { emailChangeLink, emailChangeToken, findEmailChange } from './link.js';

export interface EmailChangeMailsDeps {
  sealing: Pick<Sealing, 'derive'>;
  now: Clock;
  baseUrl: string;
  /** Where administrators sign in; null if no page is configured. */
  signInUrl: string | null;
}

/** The contents of the mails about new addresses; the first two are null once the change has ended. */
export const emailChangeMails = ({ sealing, now, baseUrl, signInUrl }: EmailChangeMailsDeps) =>
  ({
    'email-change': async (tx, id, locale) => {
      const change = await findEmailChange(tx, ['id', id], now());
      if (!change) return null;
      const { email, expiresAt } = change;
      const link = emailChangeLink(baseUrl, emailChangeToken(sealing, change).token);
      // The mailbox may be a stranger's, to whom the name could say anything.
      const first_name = greetingOf({ firstName: null, email });
      return { to: email, values: { first_name, link, expires_at_text: formatDateTime(expiresAt, locale) } };
    },
    'email-change-taken': async (tx, id) => {
      const change = await findEmailChange(tx, ['id', id], now());
      const owner = change && (await userByAddress(tx, change.email));
      return owner && { to: owner.email, values: { first_name: owner.firstName, link: signInUrl } };
    },
    'email-changed': async (tx, id, locale) => {
      const change = await tx.findOneBy(EmailChange, { id, status: 'confirmed' });
      const user = change && (await tx.findOneBy(User, { id: change.userId }));
      if (!change?.formerEmail || !change.endedAt || !user) return null;
      const changed_at_text = formatDateTime(change.endedAt, locale);
      return { to: change.formerEmail, values: { first_name: user.firstName, changed_at_text } };
    },
  }) satisfies Partial<EmailSubjects>;
