import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../domain/errors.js';
import { onlyOnce, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { type FoundLink, returnUrlAfterUse } from '../../../domain/one-time/identity-links.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { shownClient } from '../../pages/page-client.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import { type LinkVisit, linkPageOptions, linkVisit, sendLinkVoid } from '../link-pages.js';
import type { HostedOptions } from '../options.js';
import { refusalInJson } from '../refusal-in-json.js';
import { pastSomeoneElse } from '../someone-else.js';
import { throttled } from '../throttles.js';
import { newPasswordErrorOf } from './errors.js';

/** The mailed link for replacing a password. Opening it shows a form; only submitting that uses the link. */
export const passwordReset: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { provider, logins, limits } = options;
  const { look, reset, hasJustSet } = logins.passwordReset;

  app.get('/oauth/password/reset', async (request, reply) => {
    const token = onlyOnce(readParameters(request.query), ['token']).get('token') ?? '';
    const looked = await look({ token });
    const visit = await linkVisit(provider, request, reply, looked.link);
    if (looked.outcome === 'void') return sendLinkVoid(visit, { resendToken: null });
    return sendForm(visit, looked.link, { token, minLength: looked.rule.minLength, error: null });
  });

  app.post('/oauth/password/reset', throttled(limits, 'POST /oauth/password/reset'), async (request, reply) => {
    assertOwnOrigin(request, provider.baseUrl);
    const form = onlyOnce(readParameters(request.body), ['token', 'password']);
    const [token, password] = [form.get('token') ?? '', form.get('password') ?? ''];
    const looked = await look({ token });
    const visit = await linkVisit(provider, request, reply, looked.link);
    if (looked.outcome === 'void') return sendVoid(visit, { token, password });
    const { link, rule } = looked;
    const { minLength } = rule;
    try {
      if (password === '') return sendForm(visit, link, { token, minLength, error: 'sign_up.error.password_missing' });
      await reset({ token, password });
    } catch (error) {
      if (error instanceof DomainError && error.code === 'password.link_invalid') {
        return sendVoid(visit, { token, password });
      }
      const wrong = newPasswordErrorOf(error);
      if (wrong === null) throw error;
      return sendForm(visit, link, { token, minLength, error: wrong });
    }
    return sendDone(options, visit, link);
  });

  /** Answers a link that no longer works: as done if a form that was sent twice has set the password. */
  async function sendVoid(visit: LinkVisit, sent: { token: string; password: string }) {
    const done = wantsJson(visit.request) ? null : await hasJustSet(sent);
    return done ? sendDone(options, visit, done) : sendLinkVoid(visit, { resendToken: null });
  }
};

interface Asked {
  token: string;
  minLength: number;
  error: TextKey | null;
}

function sendForm(visit: LinkVisit, { email }: FoundLink, { token, minLength, error }: Asked) {
  const { request, reply, client } = visit;
  if (!client) return sendLinkVoid(visit, { resendToken: null }); // it was deleted this very moment
  if (wantsJson(request)) {
    if (error === null) return reply.send({ email, password_min_length: minLength });
    return reply.code(400).send({ error: 'invalid_request', ...refusalInJson(error, { length: minLength }) });
  }
  const values = { action: '/oauth/password/reset', token, email, minLength, error, client: shownClient(client) };
  return sendPage(request, reply, 'reset-password', values, linkPageOptions(visit));
}

async function sendDone(options: HostedOptions, visit: LinkVisit, link: FoundLink) {
  const { request, reply, client } = visit;
  const returnUrl = returnUrlAfterUse(link, visit.initiateLogin);
  if (wantsJson(request)) {
    return reply.send({ status: 'password_changed', continue_to: returnUrl });
  }
  if (!client) return sendLinkVoid(visit, { resendToken: null });
  const next = await pastSomeoneElse(options, request, link, returnUrl);
  const values = { email: link.email, ...next, client: shownClient(client) };
  return sendPage(request, reply, 'password-reset-done', values, linkPageOptions(visit));
}
