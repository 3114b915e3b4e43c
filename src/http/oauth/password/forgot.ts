import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { onlyOnce, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { isMailable } from '../../../platform/mail/addresses.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { shownClient } from '../../pages/page-client.js';
import { readerLocaleOf, sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import type { HostedOptions } from '../options.js';
import { pageOptions } from '../page-options.js';
import { refusalInJson } from '../refusal-in-json.js';
import { throttled } from '../throttles.js';
import { typedEmail } from '../typed-email.js';
import { flowOf, type Visit } from '../visit.js';

/** Mails a link for a new password, and says so whether or not anybody has the address. */
export const passwordForgot: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits, hosted, signInPage } = options;

  app.get('/oauth/password/forgot', async (request, reply) => {
    const visit = await hosted.enter(request, reply, readParameters(request.query));
    if (!visit) return reply;
    const email = visit.authorizeRequest.loginHint ?? '';
    if (!visit.client.settings.passwordLoginEnabled) return signInPage.send(visit, { email });
    return sendForgot(visit, { email, error: null });
  });

  app.post('/oauth/password/forgot', throttled(limits, 'POST /oauth/password/forgot'), async (request, reply) => {
    assertOwnOrigin(request, provider.baseUrl);
    const read = readParameters(request.query, request.body);
    const email = typedEmail(onlyOnce(read, ['email']));
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return reply;
    const { client } = visit;
    if (!client.settings.passwordLoginEnabled) return signInPage.send(visit, { email });
    if (!isMailable(email) || email.length > 320) {
      return sendForgot(visit, { email, error: 'sign_up.error.email_invalid' });
    }
    const locale = readerLocaleOf(request, pageOptions(visit));
    await logins.passwordReset.forgot({ client, email, locale, parameters: flowOf(visit) });
    if (wantsJson(request)) return reply.send({ status: 'check_your_email' });
    return signInPage.send(visit, { email, error: 'sign_in.notice.reset_mail' });
  });
};

function sendForgot(visit: Visit, { email, error }: { email: string; error: TextKey | null }) {
  const { request, reply, client } = visit;
  if (wantsJson(request)) {
    if (error === null) return reply.send({ fields: ['email'] });
    return reply.code(400).send({ error: 'invalid_request', ...refusalInJson(error) });
  }
  const params = flowOf(visit);
  return sendPage(
    request,
    reply,
    'forgot-password',
    {
      action: '/oauth/password/forgot',
      params,
      email,
      error,
      signInUrl: `/oauth/authorize?${new URLSearchParams(params)}`,
      client: shownClient(client),
    },
    pageOptions(visit),
  );
}
