import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { isMailAddress } from '../../domain/logins/address.js';
import { onlyOnce, type Parameters, readParameters } from '../../domain/oidc/requests/parameters.js';
import { identityLinkLife } from '../../domain/one-time/identity-links.js';
import { after } from '../../platform/clock.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { isOnOneLine, isVisible } from '../../platform/visible.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { readerLocaleOf } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { captchaField, wrongWithCaptcha } from './captcha.js';
import type { HostedOptions } from './options.js';
import { pageOptions } from './page-options.js';
import { newPasswordErrorOf } from './password/errors.js';
import { sendSignUp } from './register-page.js';
import { throttled } from './throttles.js';
import { typedEmail } from './typed-email.js';
import { flowOf, letsSignUp, type Visit } from './visit.js';

const formFields = ['email', 'password', 'first_name', 'last_name', captchaField] as const;

/** Sign-up by people themselves (spec.md, `/oauth/register`). Known and unknown addresses get the same answer. */
export const register: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits, captcha, hosted, signInPage } = options;
  const { baseUrl, now } = provider;
  const browserCookie = secretCookie(baseUrl, 'sign_up');

  app.get('/oauth/register', async (request, reply) => {
    const visit = await hosted.enter(request, reply, readParameters(request.query));
    if (!visit) return reply;
    const { settings } = visit.client;
    const email = visit.authorizeRequest.loginHint ?? '';
    // Without passwords, the first right code signs up.
    if (!letsSignUp(visit) || !settings.passwordLoginEnabled) return signInPage.send(visit, { email });
    return sendSignUp(visit, { email }, captcha);
  });

  app.post('/oauth/register', throttled(limits, 'POST /oauth/register'), async (request, reply) => {
    assertOwnOrigin(request, baseUrl);
    const read = readParameters(request.query, request.body);
    const form = onlyOnce(read, formFields);
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return reply;
    const { settings } = visit.client;
    const typed = typedIn(form);
    if (!settings.passwordLoginEnabled) return signInPage.send(visit, { email: typed.email });
    const error = letsSignUp(visit) ? await signUp(visit, form, typed) : 'sign_up.error.closed';
    return error === null ? sendCheckMail(visit, typed.email) : sendSignUp(visit, { ...typed, error }, captcha);
  });

  /** @returns what was wrong, or null */
  async function signUp(visit: Visit, form: Parameters, typed: ReturnType<typeof typedIn>): Promise<TextKey | null> {
    const { request, reply, client } = visit;
    const password = form.get('password') ?? '';
    if (!isMailAddress(typed.email)) return 'sign_up.error.email_invalid';
    if (password === '') return 'sign_up.error.password_missing';
    if (!isName(typed.firstName) || !isName(typed.lastName)) return 'sign_up.error.name';
    if (client.settings.selfSignupRequireCaptcha) {
      const wrong = await wrongWithCaptcha(captcha, request, form);
      if (wrong) return `sign_up.error.${wrong}`;
    }
    try {
      const { browser } = await logins.signUps.request({
        client,
        email: typed.email,
        password,
        firstName: typed.firstName || null,
        lastName: typed.lastName || null,
        locale: readerLocaleOf(request, pageOptions(visit)),
        parameters: flowOf(visit),
      });
      browserCookie.set(reply, browser, after(now(), identityLinkLife.verify_email), now());
      return null;
    } catch (error) {
      const wrong = newPasswordErrorOf(error);
      if (wrong === null) throw error;
      return wrong;
    }
  }

  function sendCheckMail(visit: Visit, email: string) {
    if (!wantsJson(visit.request)) return signInPage.send(visit, { email, error: 'sign_in.notice.check_mail' });
    return visit.reply.send({ status: 'check_your_email' });
  }
};

const typedIn = (form: Parameters) => ({
  email: typedEmail(form),
  firstName: form.get('first_name')?.trim() ?? '',
  lastName: form.get('last_name')?.trim() ?? '',
});

/** Up to 200 characters on one line, not all invisible; empty is fine (contract §1). */
export const isName = (name: string) =>
  name === '' || ([...name].length <= 200 && isVisible(name) && isOnOneLine(name) && !/\p{Cs}/u.test(name));
