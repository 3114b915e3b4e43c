import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { onlyOnce, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { type FoundLink, returnUrlAfterUse } from '../../../domain/one-time/identity-links.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { secretCookie } from '../../browsers/secret-cookie.js';
import { shownClient } from '../../pages/page-client.js';
import { sendPage } from '../../pages/send-page.js';
import type { SignUpPages } from '../../pages/sign-up-pages.js';
import { wantsJson } from '../../pages/wants-json.js';
import { isSentTwice, type LinkVisit, linkPageOptions, linkVisit, sendLinkVoid } from '../link-pages.js';
import type { HostedOptions } from '../options.js';
import { refusalInJson } from '../refusal-in-json.js';
import { pastSomeoneElse } from '../someone-else.js';
import { throttled } from '../throttles.js';

/**
 * The link that proves the address of a sign-up. Opening it shows a page; only submitting that uses the link, so mail
 * scanners cannot.
 */
export const verifyEmail: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits } = options;
  const { baseUrl } = provider;
  const browserCookie = secretCookie(baseUrl, 'sign_up');

  app.get('/oauth/verify-email', async (request, reply) => {
    const token = onlyOnce(readParameters(request.query), ['token']).get('token') ?? '';
    const looked = await logins.signUps.link.look({ token, browser: browserCookie.read(request) });
    const visit = await linkVisit(provider, request, reply, looked.link);
    if (looked.outcome === 'void') return sendVoid(visit, token);
    return sendConfirm(visit, looked.link, { token, asksPassword: looked.asksPassword });
  });

  app.post('/oauth/verify-email', throttled(limits, 'POST /oauth/verify-email'), async (request, reply) => {
    assertOwnOrigin(request, baseUrl);
    const form = onlyOnce(readParameters(request.body), ['token', 'password']);
    const token = form.get('token') ?? '';
    const browser = browserCookie.read(request);
    const result = await logins.signUps.link.confirm({ token, browser, password: form.get('password') ?? null });
    const visit = await linkVisit(provider, request, reply, result.link);
    if (result.outcome === 'void' && result.link && isSentTwice(visit, provider.now())) {
      return sendConfirmed(options, visit, result.link);
    }
    if (result.outcome === 'void') return sendVoid(visit, token);
    if (result.outcome === 'password_required') {
      const error = result.wrong ? 'confirm_sign_up.error.password' : null;
      return sendConfirm(visit, result.link, { token, asksPassword: true, error });
    }
    browserCookie.clear(reply);
    return sendConfirmed(options, visit, result.link);
  });
};

/** Only an expired link is replaced: an address that is proved already needs no other link. */
const sendVoid = (visit: LinkVisit, token: string) =>
  sendLinkVoid(visit, { resendToken: visit.link?.status === 'expired' ? token : null });

type Asks = SignUpPages['confirm-sign-up']['asks'];
interface Asked {
  token: string;
  asksPassword: boolean;
  error?: TextKey | null;
}

function sendConfirm(visit: LinkVisit, link: FoundLink, { token, asksPassword, error = null }: Asked) {
  const { request, reply, client } = visit;
  if (!client) return sendLinkVoid(visit, { resendToken: null }); // it was deleted this very moment
  const asks: Asks = asksPassword ? 'password' : link.joins && link.isVerified ? 'join' : 'click';
  if (wantsJson(request)) {
    if (request.method === 'GET') return reply.send({ email: link.email, asks });
    return reply.code(401).send({
      error: error === null ? 'login_required' : 'access_denied',
      ...(error === null
        ? { error_description: 'send the password that was chosen at sign-up' }
        : refusalInJson(error)),
    });
  }
  const values = { action: '/oauth/verify-email', token, email: link.email, asks, error, client: shownClient(client) };
  return sendPage(request, reply, 'confirm-sign-up', values, linkPageOptions(visit));
}

async function sendConfirmed(options: HostedOptions, visit: LinkVisit, link: FoundLink) {
  const { request, reply, client } = visit;
  const returnUrl = returnUrlAfterUse(link, visit.initiateLogin);
  if (wantsJson(request)) {
    return reply.send({ status: 'email_verified', continue_to: returnUrl });
  }
  if (!client) return sendLinkVoid(visit, { resendToken: null });
  const next = await pastSomeoneElse(options, request, link, returnUrl);
  const values = { email: link.email, ...next, client: shownClient(client) };
  return sendPage(request, reply, 'sign-up-confirmed', values, linkPageOptions(visit));
}
