import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { createsIdentities } from '../../../../domain/logins/email-otp.js';
import { onlyOnce, readParameters } from '../../../../domain/oidc/requests/parameters.js';
import { environmentScopeOf } from '../../../../platform/scope.js';
import { assertOwnOrigin } from '../../../browsers/origin.js';
import { readerLocaleOf } from '../../../pages/send-page.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { captchaErrorOf, captchaField } from '../../captcha.js';
import type { HostedOptions } from '../../options.js';
import { pageOptions } from '../../page-options.js';
import { throttled } from '../../throttles.js';
import { typedEmail } from '../../typed-email.js';
import { boundParametersOf, letsSignUp } from '../../visit.js';
import { sendCodeEntry, sendCodeSent } from './code-sent-page.js';

/** Mails a code to sign in with, and says so whether or not anybody has the address. */
export const emailOtpStart: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits, captcha, hosted, signInPage } = options;

  app.post(
    '/oauth/login/email-otp/start',
    throttled(limits, 'POST /oauth/login/email-otp/start'),
    async (request, reply) => {
      const read = readParameters(request.query, request.body);
      const form = onlyOnce(read, ['email', 'login_token', captchaField]);
      assertOwnOrigin(request, provider.baseUrl);
      const visit = await hosted.enter(request, reply, read);
      if (!visit) return reply;
      const { settings } = visit.client;
      const scope = environmentScopeOf(visit.client);
      const email = typedEmail(form);
      if (!visit.methods.includes('email_otp')) {
        return signInPage.send(visit, { email, error: 'sign_in.error.code_disabled' });
      }
      if (email === '') return signInPage.sendCodeForm(visit, { email, error: 'sign_in.error.email_missing' });
      const error = await captchaErrorOf(captcha, visit, form);
      const token = form.get('login_token') ?? null;
      if (error && token !== null && !wantsJson(request)) return sendCodeEntry(visit, { token, email }, error, captcha);
      if (error) return signInPage.sendCodeForm(visit, { email, error });
      const started = await logins.emailOtpLogin.start(scope, {
        email,
        bound: boundParametersOf(visit),
        token,
        locale: readerLocaleOf(request, pageOptions(visit)),
        createsIdentities: letsSignUp(visit) && createsIdentities(settings),
      });
      return sendCodeSent(visit, { ...started, email, isAgain: token !== null }, captcha);
    },
  );
};
