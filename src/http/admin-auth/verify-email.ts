import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { errors } from '../operation.js';
import { Body, single } from '../schemas.js';
import { accountEvents } from './account-events.js';
import { browserOf, presentSignedIn, SignedInFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { sendVerifyEmailError } from './verify-email-error.js';
import { isForm, localeOf, sendPage } from './verify-email-page.js';

const Html = { content: { 'text/html': { schema: Type.String() } } };
const tags = ['Admin authentication'];

/** The link of a registration. Opening it shows a page; only the page's button consumes it, so mail scanners cannot. */
export const verifyEmail: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (
  app,
  { users, baseUrl, adminAppUrl },
) => {
  const cookies = createAdminCookies(baseUrl);
  app.setErrorHandler(sendVerifyEmailError);

  app.get(
    '/verify-email',
    {
      schema: {
        operationId: 'verifyEmailPage',
        summary: 'Show what the link of a registration would create',
        description: 'A page with a button. Nothing is consumed.',
        tags,
        querystring: Type.Object({ token: Type.String() }),
        response: { 200: { description: 'The page', ...Html }, ...errors('registration.link_invalid') },
      },
    },
    async (request, reply) => {
      const { token } = request.query;
      const { accountName, email, locale } = await users.email.preview(token);
      const action = request.url.split('?', 1)[0] as string;
      return sendPage(reply, 'verify-email', { action, token, accountName, email }, localeOf(request, locale));
    },
  );

  app.post(
    '/verify-email',
    {
      config: {
        events: ['auth.registration_confirmed', ...accountEvents],
      },
      onRequest: sameOrigin({ baseUrl, adminAppUrl }),
      schema: {
        operationId: 'verifyEmail',
        summary: 'Confirm a registration',
        description:
          'Creates the account and signs its owner in, with both cookies. JSON is answered with JSON (201), a form with a page (200).',
        tags,
        body: Body({ token: Type.String() }),
        response: {
          200: { description: 'The page, for a form', ...Html },
          201: single(Type.Object(SignedInFields)),
          ...errors('registration.link_invalid', 'validation.failed', 'origin.foreign', 'service.unavailable'),
        },
      },
    },
    async (request, reply) => {
      const signedIn = await users.email.confirm(request.body.token, browserOf(request));
      cookies.set(reply, signedIn);
      if (!isForm(request)) return reply.code(201).send({ data: presentSignedIn(signedIn) });
      const values = {
        accountName: signedIn.account?.name ?? '',
        accountSlug: signedIn.account?.slug ?? '',
        nextUrl: null,
      };
      return sendPage(reply, 'email-verified', values, localeOf(request));
    },
  );
};
