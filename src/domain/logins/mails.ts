import type { EntityManager } from 'typeorm';
import { EmailedCode } from '../../../entities/emailed-code.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Locale, text } from '../../platform/mail/texts.js';
import { identityByAddress } from '../addresses/identity-by-address.js';
import { applicationNameOf } from '../emails/brand.js';
import { formatDateTime } from '../emails/format-date-time.js';
import { greetingOf, greetingOfOwner } from '../emails/greeting.js';
import { hasPasswordIn } from '../emails/has-password.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { digitsOf } from './emailed-codes.js';

/** The contents of the mails with a code. Null once the code does not work any more, or if nobody has the address. */
export function loginMails({ sealing, now }: { sealing: Pick<Sealing, 'derive'>; now: Clock }) {
  async function usable(tx: EntityManager, id: string) {
    const code = await tx.findOneBy(EmailedCode, { id });
    return !code || code.consumedAt !== null || code.expiresAt <= now() ? null : code;
  }

  async function withCode(tx: EntityManager, id: string) {
    const code = await usable(tx, id);
    if (!code) return null;
    // A new address may be a stranger's, to whom the name could say anything.
    const isOfPerson = code.identityId !== null && code.purpose !== 'email_change';
    const identity = isOfPerson ? await tx.findOneBy(Identity, { id: code.identityId as string }) : null;
    const to = identity ? identity.email : code.email;
    if (!to) return null;
    const { digits } = digitsOf(sealing, code);
    return {
      to,
      values: {
        first_name: greetingOfOwner({
          firstName: identity?.firstName ?? null,
          email: to,
          isVerified: Boolean(identity?.emailVerifiedAt),
        }),
        code: `${digits.slice(0, 3)} ${digits.slice(3)}`,
        application_name: await applicationNameOf(tx, code.environmentId),
        minutes_left: Math.ceil((code.expiresAt.getTime() - now().getTime()) / 60_000),
      },
    };
  }

  /**
   * Adds advice to a code that is only mailed after the first step: if the reader did not take it, somebody else did.
   */
  async function withAdvice(tx: EntityManager, id: string, locale: Locale) {
    const mail = await withCode(tx, id);
    if (!mail) return null;
    const { environmentId, identityId } = await tx.findOneByOrFail(EmailedCode, { id });
    const hasPassword = identityId !== null && (await hasPasswordIn(tx, environmentId, identityId));
    const advice = text(locale, hasPassword ? 'email.code.advice' : 'email.code.advice_passwordless', mail.values);
    return { ...mail, values: { ...mail.values, advice } };
  }
  return {
    'sign-in-code': withCode,
    'second-step-code': withAdvice,
    'factor-code': withAdvice,
    'identity-email-code': withCode,
    'identity-email-taken': async (tx, id) => {
      const code = await usable(tx, id);
      const owner = code?.email ? await identityByAddress(tx, code, code.email) : null;
      if (!code || !owner) return null;
      const first_name = greetingOfOwner({ ...owner, isVerified: owner.emailVerifiedAt !== null });
      const application_name = await applicationNameOf(tx, code.environmentId);
      return { to: owner.email, values: { first_name, application_name } };
    },
    'identity-email-changed': async (tx, id, locale) => {
      const code = await tx.findOneBy(EmailedCode, { id, purpose: 'email_change' });
      const identity = code?.identityId ? await tx.findOneBy(Identity, { id: code.identityId }) : null;
      if (!code?.email || !code.consumedAt || !identity) return null;
      const { email: to, environmentId, consumedAt } = code;
      const first_name = greetingOf({ firstName: identity.firstName, email: to });
      const application_name = await applicationNameOf(tx, environmentId);
      return { to, values: { first_name, application_name, changed_at_text: formatDateTime(consumedAt, locale) } };
    },
  } satisfies Partial<EmailSubjects>;
}
