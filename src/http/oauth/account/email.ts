import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError, invalidField } from '../../../domain/errors.js';
import { isMailAddress } from '../../../domain/logins/address.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { httpStatusOf } from '../../error-statuses.js';
import { wantsJson } from '../../pages/wants-json.js';
import { typedEmail } from '../typed-email.js';
import type { AccountOptions } from './options.js';
import { accountLocaleOf, sendAccountPage } from './page.js';
import { tooManyCodes } from './too-many-codes.js';
import { type AccountVisit, personOf } from './visit.js';

const page = 'account/email';

/** The refusals that the form itself explains. */
const explained: Partial<Record<string, TextKey>> = {
  'validation.failed': 'sign_up.error.email_invalid',
  'mfa.second_factor_only': 'webauthn.error.second_factor_only',
  'email_change.unchanged': 'account.email.error.unchanged',
  'email_change.domain_managed': 'account.email.error.domain_managed',
  'email_change.address_taken': 'account.email.error.taken',
  'email_change.code_invalid': 'account.factor.error.code',
};

/** Changes the address: a form for the new one, and then for the code that was mailed to it. */
export const email: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.get('/oauth/account/email', async (request, reply) => {
    const visit = await visits.open(request, reply, page);
    if (!visit || !(await mayChange(visit))) return reply;
    return show(visit, { typed: '', isSent: false });
  });

  app.post('/oauth/account/email', async (request, reply) => {
    const visit = await visits.act(request, reply, page);
    if (!visit) return reply;
    const { form } = visit;
    const typed = typedEmail(form);
    const code = form.get('code');
    try {
      if (code !== undefined) {
        // The session that asked has proved who it is, possibly more than ten minutes before the code was typed.
        await logins.ownEmail.confirm(personOf(visit), code);
        return visits.done(visit, 'email_changed');
      }
      if (!(await mayChange(visit))) return reply;
      if (!isMailAddress(typed)) throw invalidField('email', 'format', 'must be an email address');
      await logins.ownEmail.request(personOf(visit), { email: typed, locale: accountLocaleOf(visit) });
      return show(visit, { typed, isSent: true, isAgain: form.has('again') });
    } catch (error) {
      const refused = code === undefined ? tooManyCodes(visit, error) : null;
      if (refused) return show(visit, { typed, isSent: form.has('again'), ...refused }, 429);
      const text = error instanceof DomainError ? explained[error.code] : undefined;
      if (text === undefined) return visits.anew(visit, page, error);
      if (wantsJson(request)) throw error;
      const { code: refusal } = error as DomainError;
      const isSent = refusal === 'email_change.code_invalid';
      return show(visit, { typed, isSent, error: text }, httpStatusOf(refusal));
    }
  });

  /** Sends everybody away who may not change it, so that nobody fills in a form that is refused. */
  async function mayChange(visit: AccountVisit): Promise<boolean> {
    const { scope, session } = visit;
    try {
      await logins.ownEmail.assertAllowed(scope, session);
    } catch (error) {
      const isManaged = error instanceof DomainError && error.code === 'email_change.managed';
      if (!isManaged || wantsJson(visit.request)) throw error;
      visits.done(visit, 'email_managed');
      return false;
    }
    return visits.isProven(visit, page);
  }

  interface Shown {
    /** The new address as typed. */
    typed: string;
    isSent: boolean;
    isAgain?: boolean;
    error?: TextKey | null;
    retryAfterSeconds?: number | null;
  }
  function show(visit: AccountVisit, { isSent, isAgain = false, error = null, ...more }: Shown, status = 200) {
    const { email: present } = visit.session;
    if (wantsJson(visit.request)) {
      return visit.reply.send({ email: isSent ? more.typed : present, sent: isSent });
    }
    return sendAccountPage(visit, 'account-email', { present, isSent, isAgain, error, ...more }, { status });
  }
};
