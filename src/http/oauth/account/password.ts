import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../domain/errors.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { passwordErrorOf } from '../../pages/password-errors.js';
import { wantsJson } from '../../pages/wants-json.js';
import type { AccountOptions } from './options.js';
import { sendAccountPage } from './page.js';
import type { AccountVisit } from './visit.js';

const page = 'account/password';

const errors = {
  'password.wrong': 'account.password.error.wrong',
  'password.too_short': 'account.password.error.too_short',
} as const;

/** Changes the password, given the current one; somebody without a password sets one. */
export const password: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.get('/oauth/account/password', async (request, reply) => {
    const visit = await visits.open(request, reply, page);
    if (!visit || !(await mayChange(visit))) return reply;
    return show(visit, null);
  });

  app.post('/oauth/account/password', async (request, reply) => {
    const visit = await visits.act(request, reply, page);
    if (!visit || !(await mayChange(visit))) return reply;
    const { scope, session, form } = visit;
    try {
      await logins.ownPassword(scope, {
        identityId: session.identityId,
        sessionId: session.id,
        currentPassword: form.get('current_password') ?? '',
        newPassword: form.get('new_password') ?? '',
      });
    } catch (error) {
      const text = passwordErrorOf(error, errors);
      if (text === null) return visits.anew(visit, page, error);
      if (wantsJson(request)) throw error;
      return show(visit, text);
    }
    return visits.done(visit, 'password_changed');
  });

  async function mayChange(visit: AccountVisit): Promise<boolean> {
    if (!visit.client.settings.passwordLoginEnabled) throw new DomainError('route.not_found');
    return visits.isProven(visit, page, 'password');
  }

  async function show(visit: AccountVisit, error: TextKey | null) {
    const { email, hasPassword } = await logins.ownProfile(visit.scope, visit.session.identityId);
    const { passwordMinLength: minLength } = visit.client.settings;
    const status = error === null ? 200 : 400;
    return sendAccountPage(visit, 'account-password', { email, hasPassword, minLength, error }, { status });
  }
};
