import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { adminAppOf } from '../../platform/admin-app.js';
import { httpStatusOf } from '../error-statuses.js';
import { browserLocaleOf } from '../pages/locale.js';
import { passwordErrorOf } from '../pages/password-errors.js';
import { errors } from '../surfaces/operation.js';
import { Body, Message } from '../surfaces/schemas.js';
import { Html } from './answers.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { sendPageOrError } from './page-errors.js';
import { isForm, sendAdminPage } from './pages.js';
import { Password } from './password.js';

const perIp = { name: 'admin-password-reset', points: 20, windowSeconds: 3600 };
const tags = ['Admin authentication'];

/** The mailed link to set a password. Opening it shows a form; only submitting that uses it, so no mail scanner can. */
export const passwordReset: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, limits } = options;
  const nextUrl = adminAppOf(options);
  app.setErrorHandler(sendPageOrError(options));

  app.get(
    '/password/reset',
    {
      schema: {
        operationId: 'resetPasswordPage',
        summary: 'Show the form for setting a password',
        description: 'Nothing is used up.',
        tags,
        querystring: Type.Object({ token: Type.String() }),
        response: { 200: { description: 'The page', ...Html }, ...errors('password.link_invalid') },
      },
    },
    async (request, reply) => {
      const { token } = request.query;
      const { locale, purpose, email } = await users.passwords.link.preview(token);
      const action = request.url.split('?', 1)[0] as string;
      return sendAdminPage(
        reply,
        'choose-password',
        { action, token, purpose, email, error: null },
        browserLocaleOf(request, locale),
      );
    },
  );

  app.post(
    '/password/reset',
    {
      config: { events: ['auth.password_reset', 'auth.password_set'] },
      onRequest: [sameOrigin(options), limits.exact(perIp)],
      schema: {
        operationId: 'resetPassword',
        summary: 'Set a password with an emailed link',
        description:
          'Ends every session of the user, marks the email address as verified, and notifies the user by email. If the ' +
          'password is refused, the link keeps working. JSON is answered with JSON; a form, even if sent twice within a ' +
          'minute, with a page.',
        tags,
        body: Body({ token: Type.String(), password: Password }),
        response: {
          200: { description: 'A message; or the page, for a form', ...bothForms },
          ...errors(
            'validation.failed',
            'password.link_invalid',
            'password.breached',
            'password.context_specific',
            'origin.foreign',
            'rate_limit.exceeded',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { token } = request.body;
      try {
        await users.passwords.link.reset(request.body);
      } catch (error) {
        if (isForm(request) && isVoid(error) && (await users.passwords.link.hasJustSet(request.body))) {
          return sendAdminPage(reply, 'password-saved', { nextUrl }, browserLocaleOf(request)); // its form was sent twice
        }
        const wrong = isForm(request) && passwordErrorOf(error);
        if (!wrong) throw error;
        const { locale, purpose, email } = await users.passwords.link.preview(token);
        (reply as FastifyReply).code(httpStatusOf('password.breached'));
        const values = { action: request.url, token, purpose, email, error: wrong };
        return sendAdminPage(reply, 'choose-password', values, browserLocaleOf(request, locale));
      }
      if (isForm(request)) return sendAdminPage(reply, 'password-saved', { nextUrl }, browserLocaleOf(request));
      return reply.send({ data: { message: 'Your password is set, and all your sessions were signed out.' } });
    },
  );
};

const bothForms = { content: { 'application/json': { schema: Message }, ...Html.content } };

const isVoid = (error: unknown) => error instanceof DomainError && error.code === 'password.link_invalid';
