import type { EntityManager } from 'typeorm';
import { EmailedCode } from '../../../entities/emailed-code.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Locale, text } from '../../platform/mail/texts.js';
import { applicationNameOf } from '../emails/brand.js';
import { greetingOfOwner } from '../emails/greeting.js';
import { hasPasswordIn } from '../emails/has-password.js';
import type { EmailSubjects } from '../emails/subjects.js';
import { digitsOf } from './emailed-codes.js';

/** The contents of the mails with a code. Null once the code does not work any more, or if nobody has the address. */
export function loginMails({ sealing, now }: { sealing: Pick<Sealing, 'derive'>; now: Clock }) {
  async function withCode(tx: EntityManager, id: string) {
    const code = await tx.findOneBy(EmailedCode, { id });
    if (!code || code.consumedAt !== null || code.expiresAt <= now()) return null;
    const identity = code.identityId ? await tx.findOneBy(Identity, { id: code.identityId }) : null;
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
  } satisfies Partial<EmailSubjects>;
}
