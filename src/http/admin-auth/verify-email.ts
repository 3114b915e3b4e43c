import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.js';
import { isLinkInvalid, type PresentedRegistrationLink } from '../../domain/users/confirm-email.js';
import { adminAppOf } from '../../platform/admin-app.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { browserOf } from '../browsers/browser-of.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { httpStatusOf } from '../error-statuses.js';
import { accountEvents } from '../event-lists/new-account.js';
import { browserLocaleOf } from '../pages/locale.js';
import type { Pages } from '../pages/pages.js';
import { errors } from '../surfaces/operation.js';
import { Body, single } from '../surfaces/schemas.js';
import { Html, presentSignedIn, SignedInFields } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminAuthOptions } from './options.js';
import { sameOrigin } from './origin.js';
import { sendPageOrError } from './page-errors.js';
import { isForm, sendAdminPage } from './pages.js';

const tags = ['Admin authentication'];

const Confirmation = Body({
  token: Type.String(),
  password: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: 'The password of the registration. Ignored in the browser that registered.',
    }),
  ),
});

/** The link of a registration. Opening it shows a page; only the page's button uses it, so mail scanners cannot. */
export const verifyEmail: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (app, options) => {
  const { users, baseUrl } = options;
  const cookies = createAdminCookies(baseUrl);
  const browserCookie = secretCookie(baseUrl, 'admin_registration');
  const nextUrl = adminAppOf(options);
  app.setErrorHandler(sendPageOrError(options));

  app.get(
    '/verify-email',
    {
      schema: {
        operationId: 'verifyEmailPage',
        summary: 'Show what a registration link would create',
        description:
          'A page with a button and, in any browser but the one that registered, a field for the password of the registration. Nothing is used up.',
        tags,
        querystring: Type.Object({ token: Type.String() }),
        response: { 200: { description: 'The page', ...Html }, ...errors('registration.link_invalid') },
      },
    },
    async (request, reply) => {
      const { token } = request.query;
      return sendConfirm(request, reply, { token, browser: browserCookie.read(request), error: null });
    },
  );

  app.post(
    '/verify-email',
    {
      config: {
        events: ['auth.registration_confirmed', 'auth.registration_discarded', ...accountEvents],
      },
      onRequest: sameOrigin(options),
      schema: {
        operationId: 'verifyEmail',
        summary: 'Confirm a registration',
        description:
          "Creates the account and signs its owner in, with both cookies. The browser that registered, recognized by its cookie, needs only the token; any other browser must send the password that was chosen at registration: somebody who registers with a stranger's email address knows it, and the reader of the email does not. Ten wrong passwords invalidate the link. JSON is answered with JSON (201); a form with a page (200), even if sent twice within a minute, without starting a second session.",
        tags,
        body: Confirmation,
        response: {
          200: { description: 'The page, for a form', ...Html },
          201: single(Type.Object(SignedInFields)),
          ...errors(
            'registration.link_invalid',
            'registration.password_required',
            'password.wrong',
            'validation.failed',
            'origin.foreign',
            'service.unavailable',
          ),
        },
      },
    },
    async (request, reply) => {
      const { token, password = null } = request.body;
      const presented = { token, browser: browserCookie.read(request) };
      try {
        const signedIn = await users.email.confirm({ ...presented, password }, browserOf(request));
        cookies.set(reply, signedIn);
        browserCookie.clear(reply);
        if (!isForm(request)) return reply.code(201).send({ data: presentSignedIn(signedIn) });
        const { account } = signedIn;
        return sendVerified(request, reply, { accountName: account?.name ?? '', accountSlug: account?.slug ?? '' });
      } catch (error) {
        const isSentTwice = isForm(request) && isLinkInvalid(error);
        const done = isSentTwice && (await users.email.justConfirmed({ ...presented, password }).catch(unproven));
        if (done) return sendVerified(request, reply, done); // without another session
        const asked = isForm(request) && error instanceof DomainError ? asksAgain[error.code] : undefined;
        if (asked === undefined) throw error;
        (reply as FastifyReply).code(httpStatusOf('password.wrong'));
        return sendConfirm(request, reply, { ...presented, error: asked });
      }
    },
  );

  const sendVerified = (request: FastifyRequest, reply: FastifyReply, made: Omit<Pages['email-verified'], 'nextUrl'>) =>
    sendAdminPage(reply, 'email-verified', { ...made, nextUrl }, browserLocaleOf(request));

  async function sendConfirm(
    request: FastifyRequest,
    reply: FastifyReply,
    { error, ...presented }: PresentedRegistrationLink & { error: TextKey | null },
  ) {
    const { locale, canDecline, ...shown } = await users.email.preview(presented);
    const action = request.url.split('?', 1)[0] as string;
    const declineAction = canDecline ? `${action}/decline` : null;
    const values = { ...shown, token: presented.token, action, declineAction, error };
    return sendAdminPage(reply, 'verify-email', values, browserLocaleOf(request, locale));
  }
};

/** Null for somebody who proves nothing: for them, the link does not work. */
function unproven(error: unknown): null {
  if (error instanceof DomainError && error.code in asksAgain) return null;
  throw error;
}

/** The errors that a person can correct on the same page, with the text for each. */
const asksAgain: Partial<Record<string, TextKey | null>> = {
  'registration.password_required': null,
  'password.wrong': 'verify_email.error.password',
};
