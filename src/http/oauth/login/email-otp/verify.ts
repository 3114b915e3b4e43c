import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { createsIdentities } from '../../../../domain/logins/email-otp.js';
import { onlyOnce, readParameters } from '../../../../domain/oidc/requests/parameters.js';
import { firstFactor } from '../../../../domain/sessions/first-factor.js';
import { environmentScopeOf } from '../../../../platform/scope.js';
import { assertOwnOrigin } from '../../../browsers/origin.js';
import { redirect } from '../../../pages/redirect.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { continueSignedIn } from '../../continue-signed-in.js';
import { unlessGone } from '../../hosted-login.js';
import { createExpiredPage } from '../../mfa/expired-page.js';
import type { HostedOptions } from '../../options.js';
import { throttled } from '../../throttles.js';
import { boundParametersOf, letsSignUp } from '../../visit.js';
import { sendCodeRefused } from './code-sent-page.js';

/** Signs in with a mailed code, if the same authorization request asked for it. */
export const emailOtpVerify: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits, captcha, hosted, signInPage } = options;
  const expired = createExpiredPage(provider);

  app.post(
    '/oauth/login/email-otp/verify',
    throttled(limits, 'POST /oauth/login/email-otp/verify'),
    async (request, reply) => {
      const read = readParameters(request.query, request.body);
      const form = onlyOnce(read, ['code', 'login_token']);
      assertOwnOrigin(request, provider.baseUrl);
      const visit = await hosted.enter(request, reply, read);
      if (!visit) return reply;
      const { settings, environmentId } = visit.client;
      const scope = environmentScopeOf(visit.client);
      if (!visit.methods.includes('email_otp')) {
        return signInPage.send(visit, { email: '', error: 'sign_in.error.code_disabled' });
      }
      const token = form.get('login_token') ?? '';
      const result = await logins.emailOtpLogin.verify(scope, {
        token,
        code: form.get('code') ?? '',
        bound: boundParametersOf(visit),
        ipAddress: request.ip,
        dailyCap: letsSignUp(visit) && createsIdentities(settings) ? settings.dailySelfSignupCap : null,
      });
      if (result.outcome === 'spent' && !wantsJson(request)) {
        const { identityId, spentAt: since } = result;
        const before = { environmentId, identityId, since, parameters: visit.authorizeRequest.parameters };
        const continued = await continueSignedIn(provider, hosted.cookies.browser, request, before);
        return continued
          ? redirect(request, reply, '/oauth/authorize', continued)
          : expired(request, reply, read, 'code_used');
      }
      if (result.outcome === 'capped') {
        return signInPage.sendCodeForm(visit, { email: result.email, error: 'sign_in.error.daily_cap' });
      }
      const refuse = (isVoid: boolean) => sendCodeRefused(visit, { token, email: result.email, isVoid }, captcha);
      if (result.outcome !== 'accepted') return refuse(result.outcome === 'refused' && result.isVoid);
      const { identityId, email } = result;
      const first = firstFactor(identityId, 'email_otp', ['otp'], { now: provider.now(), email });
      return unlessGone(hosted.proved(visit, first), () => refuse(true));
    },
  );
};
