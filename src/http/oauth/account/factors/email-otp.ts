import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import { givingBack } from '../../../../domain/limits/rate-limits.js';
import type { TextKey } from '../../../../platform/mail/texts.js';
import { wantsJson } from '../../../pages/wants-json.js';
import type { AccountOptions } from '../options.js';
import { accountLocaleOf, sendAccountPage } from '../page.js';
import { tooManyCodes } from '../too-many-codes.js';
import type { AccountVisit } from '../visit.js';
import { createAdding } from './add.js';

const page = 'account/factors/email-otp';

/**
 * Whether the mailbox is a factor already, which it can be only once. Then the overview says so; a script is refused
 * once it sends the code.
 */
const saysThatItIsThere =
  ({ logins, visits }: Pick<AccountOptions, 'logins' | 'visits'>) =>
  async (visit: AccountVisit): Promise<boolean> => {
    const factors = await logins.factors.list(visit.scope, visit.session.identityId);
    const isAdded = factors.some(({ type }) => type === 'email_otp');
    if (!isAdded || wantsJson(visit.request)) return false;
    visits.done(visit, 'already_added');
    return true;
  };

/** Adds codes by mail as a second factor, after a first code has arrived. */
export const emailOtp: FastifyPluginAsyncTypebox<AccountOptions> = async (app, options) => {
  const { logins, visits } = options;
  const adding = createAdding(options);
  const isThere = saysThatItIsThere(options);

  app.get('/oauth/account/factors/email-otp', async (request, reply) => {
    const visit = await visits.open(request, reply, page);
    if (!visit || !(await adding.mayAdd(visit, 'email_otp', page)) || (await isThere(visit))) return reply;
    return show(visit, { isSent: false });
  });

  app.post('/oauth/account/factors/email-otp', async (request, reply) => {
    const visit = await visits.act(request, reply, page);
    if (!visit || !(await adding.mayAdd(visit, 'email_otp', page))) return reply;
    const { scope, session, form } = visit;
    const ofSession = { identityId: session.identityId, flow: session.id };
    const code = form.get('code');
    // A form with a code may be the one that has just added the factor, sent twice.
    if (code === undefined && (await isThere(visit))) return reply;
    if (code === undefined) return sendCode(visit, form.has('again'));
    try {
      const factor = await logins.emailFactor.confirmEnrollment(scope, { ...ofSession, code });
      return await givingBack(
        () => adding.add(visit, page, { factor, amr: ['otp'] }),
        () => logins.emailFactor.giveBack(factor),
      );
    } catch (error) {
      if (error instanceof DomainError && error.code === 'mfa.already_enrolled') {
        const id = await logins.emailFactor.justEnrolled(scope, { ...ofSession, code });
        if (id !== null && (await adding.isRepeated(visit, { id }, { isRunning: true }))) return reply;
        if (!wantsJson(request)) return visits.done(visit, 'already_added');
      }
      const isWrong = error instanceof DomainError && error.code === 'mfa.code_invalid';
      if (!isWrong || wantsJson(request)) throw error;
      return show(visit, { isSent: true, error: 'account.factor.error.code' }, 400);
    }
  });

  async function sendCode(visit: AccountVisit, isAgain: boolean) {
    const { scope, session } = visit;
    const code = { identityId: session.identityId, flow: session.id, locale: accountLocaleOf(visit) };
    try {
      await logins.emailFactor.send(scope, 'mfa_enrollment', code);
    } catch (error) {
      const refused = tooManyCodes(visit, error);
      if (!refused) throw error;
      return show(visit, { isSent: isAgain, ...refused }, 429);
    }
    return show(visit, { isSent: true, isAgain });
  }

  interface Shown {
    isSent: boolean;
    isAgain?: boolean;
    error?: TextKey | null;
    retryAfterSeconds?: number | null;
  }
  function show(visit: AccountVisit, { isSent, isAgain = false, error = null, ...when }: Shown, status = 200) {
    const { email } = visit.session;
    if (wantsJson(visit.request)) {
      return visit.reply.send({ email, sent: isSent });
    }
    return sendAccountPage(visit, 'account-email-otp', { email, isSent, isAgain, error, ...when }, { status });
  }
};
