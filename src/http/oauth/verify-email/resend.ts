import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { onlyOnce, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { returnUrlOf } from '../../../domain/one-time/identity-links.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { secretCookie } from '../../browsers/secret-cookie.js';
import { shownClient } from '../../pages/page-client.js';
import { readerLocaleOf, sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import { linkPageOptions, linkVisit } from '../link-pages.js';
import type { HostedOptions } from '../options.js';
import { pageOptions } from '../page-options.js';
import { throttled } from '../throttles.js';
import { typedEmail } from '../typed-email.js';
import { flowOf } from '../visit.js';

/** Mails the link to confirm an address again: to somebody who knew the password, or who has an expired link. */
export const verifyEmailResend: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits, hosted, signInPage } = options;
  const { baseUrl } = provider;
  const { resend, link: links } = logins.signUps;
  const browserCookie = secretCookie(baseUrl, 'sign_up');

  app.post(
    '/oauth/verify-email/resend',
    throttled(limits, 'POST /oauth/verify-email/resend'),
    async (request, reply) => {
      assertOwnOrigin(request, baseUrl);
      const read = readParameters(request.query, request.body);
      const form = onlyOnce(read, ['ticket', 'token', 'email']);
      const token = form.get('token');
      if (token !== undefined) return forLink(request, reply, token);

      const visit = await hosted.enter(request, reply, read);
      if (!visit) return reply;
      await resend.withTicket({
        client: visit.client,
        ticket: form.get('ticket') ?? '',
        locale: readerLocaleOf(request, pageOptions(visit)),
        parameters: flowOf(visit),
      });
      if (wantsJson(request)) return sendStatus(reply);
      return signInPage.send(visit, { email: typedEmail(form), error: 'sign_in.notice.check_mail' });
    },
  );

  async function forLink(request: FastifyRequest, reply: FastifyReply, token: string) {
    await resend.withLink(token);
    if (wantsJson(request)) return sendStatus(reply);
    const { link } = await links.look({ token, browser: browserCookie.read(request) });
    const visit = await linkVisit(provider, request, reply, link);
    const values = {
      nextUrl: link && returnUrlOf(link, visit.initiateLogin),
      client: visit.client && shownClient(visit.client),
    };
    return sendPage(request, reply, 'mail-sent', values, linkPageOptions(visit));
  }
};

const sendStatus = (reply: FastifyReply) => reply.send({ status: 'check_your_email' });
