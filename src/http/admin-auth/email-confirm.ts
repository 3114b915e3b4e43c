import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import type { PresentedEmailChangeLink } from '../../domain/users/email-change.js';
import { adminAppOf } from '../../platform/admin-app.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { httpStatusOf } from '../error-statuses.js';
import { browserLocaleOf } from '../pages/locale.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import { Html } from './answers.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { sendPageOrError } from './page-errors.js';
import { isForm, sendAdminPage } from './pages.js';

const perIp = { name: 'admin-email-confirm', points: 20, windowSeconds: 3600 };
const tags = ['Admin authentication'];

const Confirmation = Body({
  token: Type.String(),
  password: Type.Optional(
    Type.String({ maxLength: 1024, description: 'Your password. Ignored in the browser that requested the change.' }),
  ),
});

/** The link to a new address. Opening it shows a page; only the page's button uses it, so mail scanners cannot. */
export const emailConfirm: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits, baseUrl } = options;
  const browserCookie = secretCookie(baseUrl, 'admin_email_change');
  const nextUrl = adminAppOf(options);
  app.setErrorHandler(sendPageOrError(options));

  app.get(
    '/email/confirm',
    {
      schema: {
        operationId: 'confirmEmailPage',
        summary: 'Show the page that confirms a new email address',
        description:
          'A page with a button and, in any browser but the one that requested the change, a field for the password. Nothing is used up.',
        tags,
        querystring: Type.Object({ token: Type.String() }),
        response: { 200: { description: 'The page', ...Html }, ...errors('email_change.link_invalid') },
      },
    },
    async (request, reply) =>
      sendConfirm(request, reply, { token: request.query.token, browser: browserCookie.read(request), error: null }),
  );

  app.post(
    '/email/confirm',
    {
      config: { events: ['auth.admin_email_changed', 'auth.registration_discarded'] },
      onRequest: [sameOrigin(options), limits.exact(perIp)],
      schema: {
        operationId: 'confirmEmail',
        summary: 'Confirm a new email address',
        description:
          'From then on the user signs in with it. Ends their other sessions and their emailed links for passwords, and ' +
          'notifies the old address. The browser that requested the change, recognized by its cookie, needs only the token; ' +
          'any other browser must send the password of the user, so that nobody confirms what a stranger requested with ' +
          'their address. Ten wrong passwords invalidate the link. JSON is answered with JSON; a form, even if sent twice ' +
          'within a minute, with a page.',
        tags,
        body: Confirmation,
        response: {
          200: { description: 'A message; or the page, for a form', ...bothForms },
          ...errors(
            'validation.failed',
            'email_change.link_invalid',
            'email_change.password_required',
            'email_change.address_taken',
            'password.wrong',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const presented = { password: null, ...request.body, browser: browserCookie.read(request) };
      try {
        const { email } = await users.emailChanges.confirm(presented);
        browserCookie.clear(reply);
        if (isForm(request)) return sendDone(request, reply, email);
        return reply.send({ data: { message: 'Your address is changed, and your other sessions were signed out.' } });
      } catch (error) {
        if (!isForm(request) || !(error instanceof DomainError)) throw error;
        const done = isVoid(error) ? await users.emailChanges.justConfirmed(presented) : null;
        if (done) return sendDone(request, reply, done.email); // its form was sent twice
        const shown = asksAgain[error.code];
        if (shown === undefined) throw error;
        (reply as FastifyReply).code(httpStatusOf(error.code));
        return sendConfirm(request, reply, { ...presented, error: shown });
      }
    },
  );

  const sendDone = (request: FastifyRequest, reply: FastifyReply, email: string) =>
    sendAdminPage(reply, 'email-change-done', { email, nextUrl }, browserLocaleOf(request));

  async function sendConfirm(
    request: FastifyRequest,
    reply: FastifyReply,
    { token, browser, error }: Omit<PresentedEmailChangeLink, 'password'> & { error: TextKey | null },
  ) {
    const { locale, ...shown } = await users.emailChanges.preview({ token, browser });
    const action = request.url.split('?', 1)[0] as string;
    return sendAdminPage(
      reply,
      'confirm-email-change',
      { ...shown, action, token, error },
      browserLocaleOf(request, locale),
    );
  }
};

const bothForms = { content: { 'application/json': { schema: Message }, ...Html.content } };

const isVoid = (error: DomainError) => error.code === 'email_change.link_invalid';

/** The refusals that the page itself explains, with the text for each. */
const asksAgain: Partial<Record<string, TextKey | null>> = {
  'email_change.password_required': null,
  'password.wrong': 'confirm_email_change.error.password',
  'email_change.address_taken': 'confirm_email_change.error.taken',
};
