import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { readForms } from '../browsers/form-bodies.js';
import { declareEvents } from '../event-lists/oauth.js';
import { handlePageErrors } from '../pages/error-page.js';
import { countRefusals } from '../principals/client-limits.js';
import { credentialsOf } from '../principals/credentials.js';
import { registerEach } from '../register-each.js';
import { account } from './account/index.js';
import { authorize } from './authorize.js';
import { consent } from './consent.js';
import { createHostedLogin } from './hosted-login.js';
import { introspect } from './introspect.js';
import { invite } from './invite.js';
import { emailOtpStart } from './login/email-otp/start.js';
import { emailOtpVerify } from './login/email-otp/verify.js';
import { passkey } from './login/passkey.js';
import { logout } from './logout.js';
import { mfa } from './mfa/index.js';
import { handleOAuthErrors } from './oauth-error.js';
import type { OAuthOptions } from './options.js';
import { passwordForgot } from './password/forgot.js';
import { passwordReset } from './password/reset.js';
import { register } from './register.js';
import { revoke } from './revoke.js';
import { createSignInPage } from './sign-in-page.js';
import { sso } from './sso.js';
import { ssoRecovery } from './sso-recovery.js';
import { createSsoRedirect } from './sso-redirect.js';
import { token } from './token/index.js';
import { userinfo } from './userinfo.js';
import { verifyEmail } from './verify-email/index.js';
import { verifyEmailResend } from './verify-email/resend.js';

/** Everything under `/oauth`: routes for browsers answer with pages, routes for clients with RFC 6749's JSON. */
export const oauth: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, options) => {
  // Every POST here accepts a form or JSON, and nothing else (contract §4).
  app.removeContentTypeParser('text/plain');
  readForms(app);

  declareEvents(app);
  await app.register(async (pages) => {
    handlePageErrors(pages);
    pages.addHook('onRequest', (request, reply) => options.limits.general('anonymous', request.ip, reply));
    const hosted = createHostedLogin(options.provider, options.logins, options.sso);
    const { baseUrl, now } = options.provider;
    const ssoRedirect = createSsoRedirect({ sso: options.sso, baseUrl, now });
    const hostedOptions = { ...options, hosted, signInPage: createSignInPage(options), ssoRedirect };
    await registerEach(
      pages,
      [
        ...[authorize, consent, emailOtpStart, emailOtpVerify, passkey, sso, ssoRecovery, mfa, account],
        ...[invite, register, verifyEmail, verifyEmailResend, passwordForgot, passwordReset, logout],
      ],
      hostedOptions,
    );
  });
  await app.register(async (endpoints) => {
    handleOAuthErrors(endpoints);
    await endpoints.register(async (counted) => {
      countRefusals(counted, options.limits);
      counted.addHook('onRequest', async (request) => void credentialsOf(request)); // never two credentials
      await registerEach(counted, [token, revoke, introspect, userinfo], options);
    });
  });
};
